#include "cli/command_line.hpp"

#include <gtest/gtest.h>

namespace quietus::cli {
namespace {

using Words = std::vector<std::string_view>;

std::optional<std::string> environment(std::string_view name) {
  if (name == "OURS") return "from us";
  return std::nullopt;
}

CommandLine parsed(const Words& words) {
  auto line = parse_command_line(words, environment);
  EXPECT_TRUE(line) << line.error().text;
  return line ? *line : CommandLine{};
}

std::string refused(const Words& words) {
  const auto line = parse_command_line(words, environment);
  EXPECT_FALSE(line) << "was not refused";
  return line ? "" : line.error().text;
}

using Strings = std::vector<std::string>;

TEST(CtlCommandLine, ACommandBeginsWithItsFirstWordAndKeepsItsOptions) {
  const CommandLine line = parsed({"run", "-s", "local", "ls", "-l", "--json", "--", "x"});
  EXPECT_EQ(line.verb, Verb::run);
  EXPECT_EQ(line.words, (Strings{"ls", "-l", "--json", "--", "x"}));
  EXPECT_FALSE(line.json);
}

TEST(CtlCommandLine, BehindTwoDashesEverythingIsTheCommand) {
  EXPECT_EQ(parsed({"run", "--sandbox=local", "--", "-x", "--"}).words, (Strings{"-x", "--"}));
}

TEST(CtlCommandLine, OtherVerbsTakeOptionsBehindTheirWords) {
  const CommandLine line = parsed({"get", "/a", "--sandbox", "local", "b", "--json"});
  EXPECT_EQ(line.words, (Strings{"/a", "b"}));
  EXPECT_TRUE(line.json);
  EXPECT_EQ(line.settings.at("sandbox").words, Strings{"local"});
  EXPECT_EQ(line.settings.at("sandbox").origin, "argument --sandbox");
}

TEST(CtlCommandLine, LettersCanBeJoinedAndCarryTheirValue) {
  const CommandLine line = parsed({"run", "-fqslocal", "-t", "5", "x"});
  EXPECT_TRUE(line.follow);
  EXPECT_EQ(line.verbosity, Verbosity::quiet);
  EXPECT_EQ(line.settings.at("sandbox").words, Strings{"local"});
  EXPECT_EQ(line.settings.at("timeout").words, Strings{"5"});
}

TEST(CtlCommandLine, RunTakesManySandboxesAndTheOthersTheLast) {
  EXPECT_EQ(parsed({"run", "-s", "a", "-s", "b", "x"}).settings.at("sandbox").words,
            (Strings{"a", "b"}));
  EXPECT_EQ(parsed({"exec", "-s", "a", "-s", "b", "x"}).settings.at("sandbox").words, Strings{"b"});
}

TEST(CtlCommandLine, VariablesAreSetOrPassedOn) {
  const CommandLine line =
      parsed({"run", "-s", "local", "-E", "A=b=c", "-E", "OURS", "-E", "NOWHERE", "x"});
  ASSERT_EQ(line.environment.size(), 2u);
  EXPECT_EQ(line.environment[0].second, "b=c");
  EXPECT_EQ(line.environment[1].second, "from us");
}

TEST(CtlCommandLine, ADirectoryMayEndWithSlashes) {
  EXPECT_EQ(parsed({"run", "-s", "local", "-C", "/work//", "x"}).workdir, "/work");
  EXPECT_EQ(parsed({"run", "-s", "local", "-C", "/", "x"}).workdir, "/");
}

TEST(CtlCommandLine, ProgramsAndOptionsOfWhatMakesASandbox) {
  const CommandLine line = parsed({"doctor", "-s", "x", "--program", "podman=podman --runtime runc",
                                   "--create-option", "--init", "--create-option=-v"});
  EXPECT_EQ(line.settings.at("program.podman").words, (Strings{"podman", "--runtime", "runc"}));
  EXPECT_EQ(line.settings.at("create_options").words, (Strings{"--init", "-v"}));
}

TEST(CtlCommandLine, HelpWinsWhereverItStands) {
  EXPECT_EQ(parsed({"--help"}).verb, Verb::help);
  const CommandLine line = parsed({"run", "-s", "local", "--help", "--bogus"});
  EXPECT_EQ(line.verb, Verb::help);
  EXPECT_EQ(line.help_for, "run");
  EXPECT_EQ(parsed({"help", "sandboxes"}).help_for, "sandboxes");
  EXPECT_EQ(parsed({"--version"}).verb, Verb::version);
}

struct Wrong {
  Words words;
  std::string_view text;
};

TEST(CtlCommandLine, EveryRefusalNamesWhatIsWrong) {
  const Wrong cases[] = {
      {{}, "expected a verb"},
      {{"bogus"}, "unknown verb 'bogus'"},
      {{"--bogus"}, "unknown option '--bogus'"},
      {{"run", "--bogus"}, "unknown option '--bogus' (see quietusctl run --help)"},
      {{"run", "-Z", "x"}, "unknown option '-Z'"},
      {{"run"}, "run: expected a command"},
      {{"run", "--"}, "run: expected a command"},
      {{"run", ""}, "first word is empty"},
      {{"run", "--sandbox"}, "argument --sandbox: expected one value"},
      {{"run", "--json=yes", "x"}, "argument --json: takes no value"},
      {{"list", "--sandbox", "x"}, "argument --sandbox: does not go with list"},
      {{"gc", "-f"}, "argument --follow: does not go with gc"},
      {{"run", "--collect", "x", "true"}, "argument --collect: needs --into DIR"},
      {{"run", "--into", "x", "true"}, "argument --into: needs --collect"},
      {{"run", "--into=", "true"}, "argument --into: must be a path, not ''"},
      {{"run", "--collect", "", "true"}, "argument --collect: '' must not be empty"},
      {{"run", "--collect", "/", "true"}, "argument --collect: '/' must not be the root"},
      {{"run", "--collect", "a/../b", "true"}, "'a/../b' must not have an empty name, . or .."},
      {{"run", "--collect", "..", "true"}, "'..' must not have an empty name, . or .."},
      {{"run", "--collect", "a[1", "true"}, "argument --collect: 'a[1' has a [ without its ]"},
      {{"put", "-s", "local", "x", "y"}, "put: the path inside must be absolute, not 'y'"},
      {{"get", "-s", "local", "x", "/y"}, "get: the path inside must be absolute, not 'x'"},
      {{"run", "--workdir", "here", "true"}, "argument --workdir: must be an absolute path"},
      {{"run", "--setenv", "=x", "true"}, "argument --setenv: must be NAME"},
      {{"run", "--param", "x", "true"}, "argument --param: must be NAME=VALUE"},
      {{"run", "--param", "a=b", "true"}, "argument --param: needs --adapter"},
      {{"run", "--input", "x", "true"}, "argument --input: needs --adapter"},
      {{"run", "--adapter=", "true"}, "argument --adapter: must be a file or a name"},
      {{"run", "--program", "sh=x", "true"}, "argument --program: must be TOOL=WORDS"},
      {{"run", "--program", "podman", "true"}, "argument --program: must be TOOL=WORDS"},
      {{"run", "-f", "--json", "true"}, "argument --follow: does not go with --json"},
      {{"run", "-f", "-s", "a", "-s", "b", "true"}, "does not go with more than one --sandbox"},
      {{"exec", "-s", "x"}, "exec: expected"},
      {{"exec", "--user=", "x"}, "argument --user: must be a user"},
      {{"put", "a"}, "put: expected"},
      {{"get", "a", "b", "c"}, "get: expected"},
      {{"receipt"}, "receipt: expected"},
      {{"batch"}, "batch: expected"},
      {{"stop", "a", "b"}, "stop: expected"},
      {{"gc", "--forget="}, "argument --forget: must be a session"},
      {{"help", "bogus"}, "there is no verb 'bogus'"},
  };
  for (const Wrong& wrong : cases) {
    const std::string text = refused(wrong.words);
    EXPECT_NE(text.find(wrong.text), text.npos) << text << "\n  not: " << wrong.text;
    EXPECT_EQ(text.find('\n'), text.npos) << text;
  }
}

}  // namespace
}  // namespace quietus::cli
