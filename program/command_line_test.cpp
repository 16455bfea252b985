#include "program/command_line.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <set>

#include "program/option_table.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string_view>;
using Strings = std::vector<std::string>;
using Verb = CommandLine::Verb;

tl::expected<CommandLine, UsageError> parse(const Words& arguments, const Words& environment = {}) {
  return parse_command_line(arguments, environment);
}

// With the receipt that the bare form wants, and with a command.
Words bare(Words options) {
  options.insert(options.begin(), {"--receipt", "r"});
  options.insert(options.end(), {"--", "cmd"});
  return options;
}
Words run(Words options) {
  options.insert(options.begin(), "run");
  options.insert(options.end(), {"--", "cmd"});
  return options;
}
Options options_of(const Words& arguments, const Words& environment = {}) {
  const auto line = parse(arguments, environment);
  EXPECT_TRUE(line) << line.error().text;
  return line ? line->options : Options{};
}
std::string error_of(const Words& arguments) {
  const auto line = parse(arguments);
  EXPECT_FALSE(line) << "accepted: " << arguments.back();
  if (line) return "";
  EXPECT_EQ(line.error().text.find('\n'), std::string::npos) << line.error().text;
  return line.error().text;
}
Strings environment_of(const Words& options, const Words& environment) {
  return options_of(run(options), environment).worker.environment;
}

// --- the two forms -----------------------------------------------------------------------------

TEST(CommandLineTest, TheUpstreamClientsLine) {
  const auto o =
      options_of({"--timeout", "90.5", "--cleanup-timeout", "5", "--receipt", "/s/c.json",
                  "--stop-file", "/s/stop", "--preserve-descendants-on-success", "--", "python3",
                  "-m", "agent", "--timeout", "7"});
  EXPECT_EQ(o.form, Form::bare);
  EXPECT_EQ(o.timeout, Span(90500ms));
  EXPECT_EQ(o.cleanup_timeout, Span(5s));
  EXPECT_EQ(o.receipt, "/s/c.json");
  EXPECT_EQ(o.stop_file, "/s/stop");
  EXPECT_EQ(o.descendants, Descendants::keep_on_success);
  EXPECT_EQ(o.worker.argv, (Strings{"python3", "-m", "agent", "--timeout", "7"}));
}

TEST(CommandLineTest, StandsWhereTheInterpreterStood) {
  for (const char* script : {"/any/process_supervisor.py", "run", "x"}) {
    const auto o = options_of({"-I", script, "--receipt", "r", "--", "cmd"});
    EXPECT_EQ(o.form, Form::bare);
    EXPECT_EQ(o.worker.argv, Strings{"cmd"});
  }
  EXPECT_EQ(parse({"-I", "/any/script.py", "--help"})->verb, Verb::help);
  // Without a script it is an option that we do not know.
  EXPECT_NE(error_of({"-I"}).find("'-I'"), std::string::npos);
  EXPECT_NE(error_of({"-I", "--receipt", "r", "--", "cmd"}).find("'-I'"), std::string::npos);
}

TEST(CommandLineTest, DefaultsAreThoseOfTheManual) {
  const auto o = options_of({"run", "cmd"});
  EXPECT_EQ(o.form, Form::run);
  EXPECT_EQ(o.timeout, std::nullopt);
  EXPECT_EQ(o.cleanup_timeout, Span(10s));
  EXPECT_EQ(o.signal, SIGTERM);
  EXPECT_EQ(o.descendants, Descendants::tree);
  EXPECT_EQ(o.shield, Shield::off);
  EXPECT_FALSE(o.signal_group || o.isolate || o.die_with_parent || o.sync);
  EXPECT_EQ(o.verbosity, 0);
  EXPECT_TRUE(o.receipt.empty() && o.report.empty() && o.stop_file.empty() && o.output.empty());
  EXPECT_FALSE(o.output_limit || o.worker.user || o.worker.no_new_privileges);
}

TEST(CommandLineTest, EveryOptionHasItsEffect) {
  EXPECT_EQ(options_of(run({"-t", "1m"})).timeout, Span(1min));
  EXPECT_EQ(options_of(run({"-k", "2s"})).cleanup_timeout, Span(2s));
  EXPECT_EQ(options_of(run({"--kill-after", "2s"})).cleanup_timeout, Span(2s));
  EXPECT_EQ(options_of(run({"-s", "INT"})).signal, SIGINT);
  EXPECT_TRUE(options_of(run({"--signal-group"})).signal_group);
  EXPECT_EQ(options_of(run({"--descendants", "group"})).descendants, Descendants::group);
  EXPECT_EQ(options_of(run({"--receipt", "a"})).receipt, "a");
  EXPECT_EQ(options_of(run({"--report", "b"})).report, "b");
  EXPECT_TRUE(options_of(run({"--sync"})).sync);
  EXPECT_EQ(options_of(run({"--stop-file", "c"})).stop_file, "c");
  EXPECT_EQ(options_of(run({"--expire-file", "d"})).expire_file, "d");
  EXPECT_EQ(options_of(run({"-o", "e"})).output, "e");
  EXPECT_EQ(options_of(run({"-o", "e", "--output-limit", "1MiB"})).output_limit, 1u << 20);
  EXPECT_EQ(options_of(run({"--shield"})).shield, Shield::required);
  EXPECT_EQ(options_of(run({"--shield=try"})).shield, Shield::attempt);
  EXPECT_TRUE(options_of(run({"--isolate"})).isolate);
  EXPECT_TRUE(options_of(run({"--no-new-privs"})).worker.no_new_privileges);
  EXPECT_TRUE(options_of(run({"--die-with-parent"})).die_with_parent);
  EXPECT_EQ(options_of(run({"-C", "/f"})).worker.directory, "/f");
  EXPECT_EQ(options_of(run({"-q"})).verbosity, -1);
  EXPECT_EQ(options_of(run({"-v"})).verbosity, 1);
  EXPECT_EQ(options_of(run({"--user", "5:6"})).worker.user->gid, 6u);
  const auto limits =
      options_of(run({"--rlimit", "cpu=1", "--rlimit", "nofile=2:3"})).worker.limits;
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].resource, RLIMIT_CPU);
  EXPECT_EQ(limits[1].hard, 3u);
}

TEST(CommandLineTest, TheBareFormTakesEveryOptionOfRun) {
  for (const OptionSpec& spec : option_table()) {
    if ((spec.verbs & kRun) == 0) continue;
    EXPECT_NE(spec.verbs & kBare, 0u) << spec.name;
  }
  EXPECT_EQ(options_of(bare({"--shield=try"})).shield, Shield::attempt);
}

// --- words -------------------------------------------------------------------------------------

TEST(CommandLineTest, ValuesAreSpelledInEveryUsualWay) {
  for (const Words& options : {Words{"--timeout", "5"}, Words{"--timeout=5"}, Words{"-t", "5"},
                               Words{"-t5"}, Words{"-vt5"}, Words{"-vt", "5"}}) {
    EXPECT_EQ(options_of(run(options)).timeout, Span(5s)) << options.front();
  }
  // The first equals sign ends the name.
  EXPECT_EQ(options_of(run({"--receipt=a=b"})).receipt, "a=b");
  // A value may look like an option, or like the end of them.
  EXPECT_EQ(options_of(run({"--receipt", "--timeout"})).receipt, "--timeout");
  EXPECT_EQ(options_of(run({"--receipt", "--"})).receipt, "--");
  // The last one counts.
  EXPECT_EQ(options_of(run({"-t1", "-t2"})).timeout, Span(2s));
}

TEST(CommandLineTest, TheCommandBeginsAtTheFirstWordThatIsNoOption) {
  const std::pair<Words, Strings> rows[] = {
      {{"run", "cmd", "-t", "x"}, {"cmd", "-t", "x"}},
      {{"run", "--", "cmd"}, {"cmd"}},
      {{"run", "--", "--", "cmd"}, {"--", "cmd"}},
      {{"run", "cmd", "--", "x"}, {"cmd", "--", "x"}},
      {{"run", "-v", "cmd", "--help"}, {"cmd", "--help"}},
      {{"run", "--", "-v"}, {"-v"}},
      {{"run", "-", "x"}, {"-", "x"}},
      {{"run", "", "x"}, {"", "x"}},
      {{"run", "run", "x"}, {"run", "x"}},
      {{"--receipt", "r", "run", "x"}, {"run", "x"}},
  };
  for (const auto& [arguments, argv] : rows) EXPECT_EQ(options_of(arguments).worker.argv, argv);
}

TEST(CommandLineTest, PrefixesAndUnknownWordsAreRefused) {
  EXPECT_EQ(error_of(run({"--time", "5"})), "unknown option '--time' (see quietus --help)");
  EXPECT_EQ(error_of(run({"--timeouts=5"})), "unknown option '--timeouts' (see quietus --help)");
  EXPECT_EQ(error_of(run({"--="})), "unknown option '--' (see quietus --help)");
  EXPECT_EQ(error_of(run({"-x"})), "unknown option '-x' (see quietus --help)");
  EXPECT_EQ(error_of(run({"-vx"})), "unknown option '-vx' (see quietus --help)");
  EXPECT_EQ(error_of({"--version", "--jsn"}),
            "argument --version: may be followed by --json, not '--jsn'");
}

TEST(CommandLineTest, MissingAndSuperfluousValuesAreTold) {
  EXPECT_EQ(error_of({"run", "-t"}), "argument --timeout: expected one value");
  EXPECT_EQ(error_of({"run", "--receipt"}), "argument --receipt: expected one value");
  EXPECT_EQ(error_of(run({"--isolate=yes"})), "--isolate takes no value");
  EXPECT_EQ(error_of({"run"}), "a command is required after --");
  EXPECT_EQ(error_of({"run", "-v"}), "a command is required after --");
  EXPECT_EQ(error_of({"run", "--"}), "a command is required after --");
  EXPECT_NE(error_of({}).find("a command is required"), std::string::npos);
  EXPECT_EQ(error_of({"--", "cmd"}), "the following arguments are required: --receipt");
  EXPECT_EQ(error_of({"--timeout", "5"}), "the following arguments are required: --receipt");
}

// A bad value is told before a missing command, as upstream does.
TEST(CommandLineTest, ValuesAreJudgedBeforeTheWhole) {
  EXPECT_NE(error_of({"--timeout", "0"}).find("--timeout"), std::string::npos);
  EXPECT_NE(error_of({"run", "--timeout", "x", "--nonsense"}).find("--timeout"), std::string::npos);
}

struct BadValue {
  const char* option;
  const char* value;
  const char* rule;
};

TEST(CommandLineTest, ABadValueNamesOptionValueAndRule) {
  const BadValue rows[] = {
      {"--timeout", "0", "finite and positive"},
      {"--timeout", "-1", "finite and positive"},
      {"--timeout", "nan", "finite and positive"},
      {"--timeout", "inf", "finite and positive"},
      {"--timeout", "1e400", "finite and positive"},
      {"--timeout", "", "finite and positive"},
      {"--timeout", "abc", "number of seconds"},
      {"--timeout", "1w", "the suffix s, m, h or d"},
      {"--cleanup-timeout", "0", "finite and positive"},
      {"--kill-after", "0", "finite and positive"},
      {"--signal", "NOPE", "a signal name or a number from 1 to 64"},
      {"--descendants", "all", "tree, group or keep-on-success"},
      {"--receipt", "", "a path"},
      {"--receipt", "/dev/null", "no device"},
      {"--report", "", "a path"},
      {"--report", "/dev/stdout", "no device"},
      {"--stop-file", "", "a path"},
      {"--expire-file", "", "a path"},
      {"--output", "", "a path"},
      {"--chdir", "", "a path"},
      {"--output-limit", "0", "a number of bytes from 1 to 1GiB"},
      {"--output-limit", "1.5M", "a number of bytes from 1 to 1GiB"},
      {"--rlimit", "files=1", "NAME=SOFT[:HARD]"},
      {"--user", "root", "UID[:GID]"},
      {"--setenv", "=x", "NAME=VALUE or NAME"},
      {"--setenv", "", "NAME=VALUE or NAME"},
      {"--unset", "", "the name of a variable"},
      {"--unset", "A=1", "the name of a variable"},
  };
  for (const BadValue& row : rows) {
    const std::string text = error_of(run({row.option, row.value}));
    const std::string told =
        std::string(row.option) == "--kill-after" ? "--cleanup-timeout" : row.option;
    EXPECT_TRUE(text.starts_with("argument " + told + ": must be ")) << text;
    EXPECT_TRUE(text.ends_with("not '" + std::string(row.value) + "'")) << text;
    EXPECT_NE(text.find(row.rule), std::string::npos) << text;
  }
  EXPECT_EQ(error_of(run({"--shield=yes"})),
            "argument --shield: must be try, or absent, not 'yes'");
}

TEST(CommandLineTest, TheBareFormKnowsNoUnits) {
  EXPECT_EQ(error_of(bare({"--timeout", "90s"})),
            "argument --timeout: must be a finite and positive number of seconds, not '90s'");
  EXPECT_EQ(options_of(run({"--timeout", "90s"})).timeout, Span(90s));
}

TEST(CommandLineTest, AMonstrousOrUglyValueIsToldShort) {
  const std::string monster(100000, 'x');
  EXPECT_LT(error_of(run({"--user", monster})).size(), 300u);
  EXPECT_LT(error_of(run({"--" + monster})).size(), 300u);
  EXPECT_NE(error_of(run({"--user", "a\nb\x1b[31m\x7f"})).find("'a?b?[31m?'"), std::string::npos);
}

// --- what does not go together -----------------------------------------------------------------

TEST(CommandLineTest, ConflictsAreTold) {
  EXPECT_EQ(error_of(run({"--output-limit", "5"})), "argument --output-limit: needs --output");
  for (const char* policy : {"group", "keep-on-success"}) {
    EXPECT_EQ(error_of(run({"-o", "f", "--output-limit", "5", "--descendants", policy})),
              "argument --output-limit: must go with --descendants tree, not '" +
                  std::string(policy) + "', whose survivors would lose their pipe");
    EXPECT_EQ(error_of(run({"--isolate", "--descendants", policy})),
              "argument --isolate: must go with --descendants tree, not '" + std::string(policy) +
                  "': nobody outlives a PID namespace");
    // Without the limit the survivors keep their file.
    EXPECT_TRUE(parse(run({"-o", "f", "--descendants", policy})));
  }
  EXPECT_EQ(error_of(run({"--receipt", "same", "--report", "same"})),
            "argument --report: must be another file than --receipt, not 'same'");
  EXPECT_EQ(error_of(run({"--output", "same", "--receipt", "same"})),
            "argument --output: must be another file than the records, not 'same'");
  EXPECT_EQ(error_of(run({"--report", "same", "--output", "same"})),
            "argument --output: must be another file than the records, not 'same'");
  EXPECT_EQ(error_of(run({"--descendants", "group", "--preserve-descendants-on-success"})),
            "argument --preserve-descendants-on-success: contradicts --descendants group");
  EXPECT_EQ(error_of(run({"--preserve-descendants-on-success", "--descendants", "tree"})),
            "argument --descendants: contradicts --descendants keep-on-success");
  EXPECT_TRUE(
      parse(run({"--preserve-descendants-on-success", "--descendants", "keep-on-success"})));
}

// --- the worker's environment ------------------------------------------------------------------

TEST(CommandLineTest, TheEnvironmentIsPassedOnAsItIs) {
  const Words ours = {"A=1", "B=", "odd", "=x", "A=again", "C=\xFF\n"};
  EXPECT_EQ(environment_of({}, ours), (Strings{"A=1", "B=", "odd", "=x", "A=again", "C=\xFF\n"}));
}

TEST(CommandLineTest, VariablesAreSetRemovedAndPassedOn) {
  const Words ours = {"A=1", "B=2", "C=3"};
  EXPECT_EQ(environment_of({"-E", "D=4"}, ours), (Strings{"A=1", "B=2", "C=3", "D=4"}));
  EXPECT_EQ(environment_of({"-E", "B=new"}, ours), (Strings{"A=1", "C=3", "B=new"}));
  EXPECT_EQ(environment_of({"-EB="}, ours), (Strings{"A=1", "C=3", "B="}));
  EXPECT_EQ(environment_of({"-E", "B=x=y"}, ours), (Strings{"A=1", "C=3", "B=x=y"}));
  EXPECT_EQ(environment_of({"--unset", "B"}, ours), (Strings{"A=1", "C=3"}));
  EXPECT_EQ(environment_of({"--unset", "Z"}, ours), (Strings{"A=1", "B=2", "C=3"}));
  // The last -E of a name counts; set wins over removed, wherever it stands.
  EXPECT_EQ(environment_of({"-E", "B=x", "-E", "B=y"}, ours), (Strings{"A=1", "C=3", "B=y"}));
  EXPECT_EQ(environment_of({"-E", "B=x", "--unset", "B"}, ours), (Strings{"A=1", "C=3", "B=x"}));
  // A bare name passes ours on, and sets nothing that is not there.
  EXPECT_EQ(environment_of({"-E", "B"}, ours), (Strings{"A=1", "B=2", "C=3"}));
  EXPECT_EQ(environment_of({"-E", "Z"}, ours), (Strings{"A=1", "B=2", "C=3"}));
  EXPECT_EQ(environment_of({"-E", "B=x", "-E", "B"}, ours), (Strings{"A=1", "B=2", "C=3"}));
}

TEST(CommandLineTest, AnEmptyEnvironmentHoldsWhatIsAskedFor) {
  const Words ours = {"A=1", "B=2"};
  EXPECT_EQ(environment_of({"--clear-env"}, ours), Strings{});
  EXPECT_EQ(environment_of({"--clear-env", "-E", "B", "-E", "C=3"}, ours), (Strings{"B=2", "C=3"}));
  EXPECT_EQ(environment_of({"-E", "C=3", "--clear-env"}, ours), Strings{"C=3"});
}

TEST(CommandLineTest, OurMarkerGoesItsOwnWay) {
  const Words ours = {"A=1", "QUIETUS_SESSION=outer.1,outer.2", "QUIETUS_SESSIONS=x"};
  for (const Words& options :
       {Words{}, Words{"--clear-env"}, Words{"--unset", "QUIETUS_SESSION"}}) {
    const auto o = options_of(run(options), ours);
    EXPECT_EQ(o.worker.outer_marker, "outer.1,outer.2");
    for (const std::string& entry : o.worker.environment) {
      EXPECT_FALSE(entry.starts_with("QUIETUS_SESSION=")) << entry;
    }
  }
  EXPECT_EQ(options_of(run({}), {"QUIETUS_SESSION"}).worker.outer_marker, "");
}

// --- other verbs -------------------------------------------------------------------------------

TEST(CommandLineTest, HelpAndVersionWinOverTheRest) {
  for (const Words& arguments :
       {Words{"--help"}, Words{"-h"}, Words{"--receipt", "r", "--help"}, Words{"run", "-h"},
        Words{"run", "--shield", "--help", "--nonsense"}, Words{"stop", "--help"}}) {
    const auto line = parse(arguments);
    ASSERT_TRUE(line) << line.error().text;
    EXPECT_EQ(line->verb, Verb::help);
  }
  EXPECT_EQ(parse({"--help"})->help_for, "");
  EXPECT_EQ(parse({"run", "--help"})->help_for, "run");
  EXPECT_EQ(parse({"--version"})->verb, Verb::version);
  EXPECT_EQ(parse({"--version", "--json"})->verb, Verb::version_json);
  // Once the command has begun, its words are its own.
  EXPECT_EQ(parse({"run", "cmd", "--version"})->verb, Verb::supervise);
}

TEST(CommandLineTest, OptionsOfOtherVerbsAreRefused) {
  EXPECT_EQ(error_of(run({"--session", "d"})), "argument --session: does not go with run");
  EXPECT_EQ(error_of(bare({"--detach"})),
            "argument --detach: does not go with the form without a verb");
  EXPECT_EQ(error_of({"launch", "--session", "d", "--receipt", "r", "--", "cmd"}),
            "argument --receipt: does not go with launch");
  EXPECT_EQ(error_of({"stop"}), "the following arguments are required: --session");
  EXPECT_EQ(error_of({"stop", "--session", "d", "extra"}), "unexpected argument 'extra'");
}

TEST(CommandLineTest, ALaunchBringsItsCommandInOneWay) {
  const auto line = parse({"launch", "--session", "d", "--lease", "5m", "-d", "--", "cmd"});
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_EQ(line->verb, Verb::launch);
  EXPECT_EQ(line->session.directory, "d");
  EXPECT_TRUE(line->detach);
  EXPECT_EQ(line->options.form, Form::launch);
  EXPECT_EQ(line->options.control.lease, Span(5min));
  EXPECT_TRUE(line->options.control.empty_stdin);
  const auto with_fd = parse({"launch", "--session", "d", "--command-fd", "0"});
  ASSERT_TRUE(with_fd) << with_fd.error().text;
  EXPECT_EQ(with_fd->command_fd, 0);
  for (const char* wrong : {"1", "2", "-1", "x", ""}) {
    EXPECT_NE(error_of({"launch", "--session", "d", "--command-fd", wrong}).find("must be"),
              std::string::npos);
  }
  EXPECT_NE(error_of({"launch", "--session", "d", "--command-fd", "0", "cmd"}).find("'cmd'"),
            std::string::npos);
  EXPECT_NE(error_of({"launch", "--session", "d", "-d", "--lease", "stdin", "cmd"}).find("--lease"),
            std::string::npos);
}

// --- the table ---------------------------------------------------------------------------------

TEST(OptionTable, NamesAndLettersAreUnique) {
  std::set<std::string_view> names;
  std::set<char> letters;
  for (const OptionSpec& spec : option_table()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_TRUE(spec.alias.empty() || names.insert(spec.alias).second) << spec.alias;
    EXPECT_TRUE(spec.letter == 0 || letters.insert(spec.letter).second) << spec.letter;
    EXPECT_FALSE(spec.help.empty()) << spec.name;
    EXPECT_EQ(spec.value.empty(), spec.takes == Takes::nothing) << spec.name;
  }
}

}  // namespace
}  // namespace quietus
