// Adapter files: every key, and each way to write one wrongly, with the line that tells it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/adapters/spec.hpp"

namespace quietus::adapters {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr std::string_view kEveryKey = R"toml(
name = "demo-1.x_y"
description = "all of it"

[params.model]
description = "which"
default = "{home}/m"
env = "MODEL"
[params.key]

[[install]]
check = ["test", "-x", "{home}/bin"]
run = "make {param.model|shell}"
cwd = "{workdir}"
environment = { A_1 = "{session}" }
timeout = "1.5m"
[[install]]
check = "true"
run = ["make"]

[[files]]
from = "tree/{param.key}"
to = "in/tree"
[[files]]
text = '''{{ "model": {param.model|json} }}'''
to = "{session}/config.json"
mode = 0o640

[command]
argv = ["demo", "--in={input}", "{arguments}", "{{}}"]
environment = { KEY = "{param.key}", _B = "" }

[[artifacts]]
glob = "{workdir}/out/**/*.json"
into = "json/all"
most_bytes = "3MiB"
most_files = 7
required = true
[[artifacts]]
glob = "log"
most_bytes = 12

[result]
read = "jsonl"
file = "events.jsonl"
value = "/part/text"
where = { "/type" = "text", "/n" = 3, "/last" = true }
most_bytes = "1GiB"
)toml";

AdapterSpec parsed(std::string_view toml) {
  auto spec = parse_spec(toml, "adapters/demo.toml");
  EXPECT_TRUE(spec) << spec.error().text();
  return spec ? *spec : AdapterSpec{};
}

Values values() {
  return {.workdir = "/work",
          .session = "/s",
          .home = "/root",
          .input = "/s/input/task",
          .input_text = "task",
          .parameters = {{"model", "big one"}, {"key", "k"}}};
}
std::string text(const Text& one) { return *expand(one, values()); }

TEST(AdapterFile, HasEveryKey) {
  const AdapterSpec spec = parsed(kEveryKey);
  EXPECT_EQ(spec.name, "demo-1.x_y");
  EXPECT_EQ(spec.description, "all of it");
  EXPECT_EQ(spec.folder, "adapters");

  ASSERT_EQ(spec.parameters.size(), 2u);
  const auto& key = spec.parameters[0];
  EXPECT_EQ(key.name, "key");
  EXPECT_EQ(key.default_value, std::nullopt);
  const auto& model = spec.parameters[1];
  EXPECT_EQ(model.description, "which");
  EXPECT_EQ(model.default_value, "{home}/m");
  EXPECT_EQ(model.variable, "MODEL");
  EXPECT_EQ(text(*spec.defaults[1]), "/root/m");

  ASSERT_EQ(spec.install.size(), 2u);
  ASSERT_EQ(spec.install[0].check.argv.size(), 3u);
  EXPECT_EQ(text(spec.install[0].check.argv[2]), "/root/bin");
  EXPECT_EQ(text(*spec.install[0].run.shell), "make 'big one'");
  EXPECT_EQ(text(*spec.install[0].cwd), "/work");
  EXPECT_EQ(spec.install[0].environment.at(0).first, "A_1");
  EXPECT_EQ(text(spec.install[0].environment.at(0).second), "/s");
  EXPECT_EQ(spec.install[0].timeout, 90s);
  EXPECT_EQ(text(*spec.install[1].check.shell), "true");
  EXPECT_EQ(text(spec.install[1].run.argv.at(0)), "make");
  EXPECT_EQ(spec.install[1].timeout, 10min);

  ASSERT_EQ(spec.files.size(), 2u);
  EXPECT_EQ(text(*spec.files[0].from), "tree/k");
  EXPECT_EQ(*inside_path(spec.files[0].to, values()), "/work/in/tree");
  EXPECT_EQ(spec.files[0].mode, std::nullopt);
  EXPECT_EQ(text(*spec.files[1].text), R"({ "model": "big one" })");
  EXPECT_EQ(*inside_path(spec.files[1].to, values()), "/s/config.json");
  EXPECT_EQ(spec.files[1].mode, 0640u);

  ASSERT_EQ(spec.artifacts.size(), 2u);
  EXPECT_EQ(text(spec.artifacts[0].glob), "/work/out/**/*.json");
  EXPECT_EQ(spec.artifacts[0].limits.into, "json/all");
  EXPECT_EQ(spec.artifacts[0].limits.most_bytes, 3u << 20);
  EXPECT_EQ(spec.artifacts[0].limits.most_files, 7u);
  EXPECT_TRUE(spec.artifacts[0].limits.required);
  EXPECT_EQ(spec.artifacts[1].limits.most_bytes, 12u);
  EXPECT_EQ(spec.artifacts[1].limits.most_files, 10000u);
  EXPECT_FALSE(spec.artifacts[1].limits.required);

  EXPECT_EQ(spec.result.format, ResultFormat::json_lines);
  EXPECT_EQ(text(*spec.result.file), "events.jsonl");
  EXPECT_EQ(spec.result.value.text(), "/part/text");
  EXPECT_EQ(spec.result.most_bytes, 1u << 30);
  ASSERT_EQ(spec.result.conditions.size(), 3u);
  EXPECT_EQ(spec.result.conditions[0].first.text(), "/last");
  EXPECT_EQ(spec.result.conditions[0].second, "true");
  EXPECT_EQ(spec.result.conditions[1].second, "3");
  EXPECT_EQ(spec.result.conditions[2].second, "\"text\"");
}

TEST(AdapterFile, NeedsOnlyANameAndACommand) {
  const AdapterSpec spec = parsed("name = \"a\"\ncommand.argv = [\"true\"]\n");
  EXPECT_EQ(spec.result.format, ResultFormat::exit_code);
  EXPECT_TRUE(spec.parameters.empty() && spec.install.empty() && spec.files.empty() &&
              spec.artifacts.empty() && spec.environment.empty());
}

TEST(AdapterFile, ReadsItsResultInFourWays) {
  const auto format = [](std::string_view word) {
    return parsed("name = \"a\"\ncommand.argv = [\"true\"]\nresult.read = \"" + std::string(word) +
                  '"')
        .result.format;
  };
  EXPECT_EQ(format("exit-code"), ResultFormat::exit_code);
  EXPECT_EQ(format("text"), ResultFormat::text);
  EXPECT_EQ(format("json"), ResultFormat::json);
  EXPECT_EQ(format("jsonl"), ResultFormat::json_lines);
}

// The error of a file that has these lines behind its first three, which are right.
std::string error_of(std::string_view lines) {
  const auto spec = parse_spec(
      "name = \"a\"\nparams.p = { }\ncommand = { argv = [\"true\"] }\n" + std::string(lines),
      "x.toml");
  if (spec) return "accepted";
  EXPECT_EQ(spec.error().kind, ErrorKind::input);
  EXPECT_EQ(spec.error().text(), spec.error().message) << "more than one line of text";
  EXPECT_THAT(spec.error().message, Not(HasSubstr("\n")));
  return spec.error().message;
}

struct Wrong {
  const char* lines;
  const char* error;
};

TEST(AdapterFile, ThatIsWrongIsToldInOneLine) {
  const Wrong all[] = {
      // Keys that are none, at each level.
      {"nmae = 1",
       "x.toml:4: nmae = 1: is no key of an adapter; here there are name, description, params, "
       "install, files, command, artifacts, result"},
      {"\n[params.q]\ndefualt = 'x'",
       "x.toml:6: params.q.defualt = \"x\": is no key of an adapter; here there are description, "
       "default, env"},
      {"[[install]]\ncheck='a'\nrun='b'\nuser = 'root'",
       "x.toml:7: install[0].user = \"root\": is no key of an adapter; here there are check, run, "
       "cwd, environment, timeout"},
      {"[[files]]\ntext=''\nto='b'\n\"owner\\n\" = 'root'",
       "x.toml:7: files[0].\"owner\\n\" = \"root\": is no key of an adapter; here there are from, "
       "text, to, mode"},
      {"[[artifacts]]\nglob='a'\nmax = [1]",
       "x.toml:6: artifacts[0].max = a list: is no key of an adapter; here there are glob, into, "
       "most_bytes, most_files, required"},
      {"[result]\nread='text'\npath = {}",
       "x.toml:6: result.path = a table: is no key of an adapter; here there are read, file, "
       "value, "
       "where, most_bytes"},
      // Types.
      {"description = 3", "x.toml:4: description = 3: must be a text in quotes"},
      {"install = 3", "x.toml:4: install = 3: must be tables, each headed [[install]]"},
      {"files = [1.5]", "x.toml:4: files[0] = a fraction: must be a table"},
      {"result = 2020-01-01", "x.toml:4: result = a date or time: must be a table"},
      {"params.q = 'x'", "x.toml:4: params.q = \"x\": must be a table"},
      {"params.q.description = true",
       "x.toml:4: params.q.description = true: must be a text in quotes"},
      {"params.q.default = 3", "x.toml:4: params.q.default = 3: must be a text in quotes"},
      // Parameters.
      {"params.'a b' = {}",
       "x.toml:4: params.\"a b\" = a table: must be named with letters, digits, "
       "_ and -"},
      {"params.q.env = '1A'",
       "x.toml:4: params.q.env = \"1A\": must name a variable: letters, digits "
       "and _, and no digit first"},
      {"params.q.env = ''",
       "x.toml:4: params.q.env = \"\": must name a variable: letters, digits "
       "and _, and no digit first"},
      {"params.q.default = '{param.p}'",
       "x.toml:4: params.q.default = \"{param.p}\": has an unknown placeholder {param.p}; there "
       "are "
       "{workdir}, {session}, {home}, {input}, {input.text}, {env:NAME}; a brace is written {{ or "
       "}}"},
      // Install.
      {"[[install]]\nrun='b'",
       "x.toml:4: install[0].check is missing: must be a list of words in "
       "quotes, or one text for sh"},
      {"[[install]]\ncheck='b'",
       "x.toml:4: install[0].run is missing: must be a list of words in "
       "quotes, or one text for sh"},
      {"[[install]]\ncheck=[]\nrun='b'",
       "x.toml:5: install[0].check = a list: must be a list of "
       "words in quotes, or one text for sh"},
      {"[[install]]\ncheck='a'\nrun=[\n 'b',\n 3]",
       "x.toml:8: install[0].run = 3: must be a list of words in quotes, or one text for sh"},
      {"[[install]]\ncheck=''\nrun='b'", "x.toml:5: install[0].check = \"\": must not be empty"},
      {"[[install]]\ncheck=\"a\\u0000\"\nrun='b'",
       "x.toml:5: install[0].check = \"a\\u0000\": must not hold a NUL byte"},
      {"[[install]]\ncheck=['{q}']\nrun='b'",
       "x.toml:5: install[0].check = \"{q}\": has an unknown placeholder {q}; there are {workdir}, "
       "{session}, {home}, {input}, {input.text}, {param.p}, {env:NAME}; a brace is written {{ or "
       "}}"},
      {"[[install]]\ncheck='a'\nrun='b'\ntimeout='5 parsecs'",
       "x.toml:7: install[0].timeout = \"5 parsecs\": must be "},
      {"[[install]]\ncheck='a'\nrun='b'\ntimeout=5",
       "x.toml:7: install[0].timeout = 5: must be a text in quotes"},
      {"[[install]]\ncheck='a'\nrun='b'\ncwd=''",
       "x.toml:7: install[0].cwd = \"\": must not be empty"},
      {"[[install]]\ncheck='a'\nrun='b'\nenvironment.'A=B'='c'",
       "x.toml:7: install[0].environment.\"A=B\" = \"c\": must be named with letters, digits and "
       "_, "
       "and no digit first"},
      {"[[install]]\ncheck='a'\nrun='b'\nenvironment.A=1",
       "x.toml:7: install[0].environment.A = 1: must be a text in quotes"},
      // Files.
      {"[[files]]\nto='b'",
       "x.toml:4: files[0].from is missing: must be a path on this machine, "
       "unless text has the content"},
      {"[[files]]\nfrom='a'\ntext='b'\nto='c'",
       "x.toml:6: files[0].text = \"b\": must not stand beside from: one of the two"},
      {"[[files]]\nfrom='a'", "x.toml:4: files[0].to is missing: must be the path inside"},
      {"[[files]]\nfrom='{workdir}'\nto='a'",
       "x.toml:5: files[0].from = \"{workdir}\": has an unknown placeholder {workdir}; there are "
       "{param.p}, {env:NAME}; a brace is written {{ or }}"},
      {"[[files]]\ntext='a'\nto='b'\nmode=0o10000",
       "x.toml:7: files[0].mode = 4096: must be from 0 to 0o7777"},
      {"[[files]]\ntext='a'\nto='b'\nmode='0644'",
       "x.toml:7: files[0].mode = \"0644\": must be a whole number"},
      // Artifacts.
      {"[[artifacts]]\ninto='a'",
       "x.toml:4: artifacts[0].glob is missing: must be a pattern for paths inside"},
      {"[[artifacts]]\nglob=''", "x.toml:5: artifacts[0].glob = \"\": must not be empty"},
      {"[[artifacts]]\nglob='a'\ninto='/a'",
       "x.toml:6: artifacts[0].into = \"/a\": must be a relative path without .."},
      {"[[artifacts]]\nglob='a'\ninto='a/../..'",
       "x.toml:6: artifacts[0].into = \"a/../..\": must be a relative path without .."},
      {"[[artifacts]]\nglob='a'\nmost_bytes='3MB'",
       "x.toml:6: artifacts[0].most_bytes = \"3MB\": must be a number of bytes from 1, such as "
       "65536 "
       "or \"10MiB\""},
      {"[[artifacts]]\nglob='a'\nmost_bytes=0",
       "x.toml:6: artifacts[0].most_bytes = 0: must be a number of bytes from 1, such as 65536 or "
       "\"10MiB\""},
      {"[[artifacts]]\nglob='a'\nmost_bytes='99999999999TiB'",
       "x.toml:6: artifacts[0].most_bytes = \"99999999999TiB\": must be a number of bytes from 1"},
      {"[[artifacts]]\nglob='a'\nmost_files=0",
       "x.toml:6: artifacts[0].most_files = 0: must be at least 1"},
      {"[[artifacts]]\nglob='a'\nrequired='yes'",
       "x.toml:6: artifacts[0].required = \"yes\": must be true or false"},
      {"[[artifacts]]\nglob='a'\n[[artifacts]]\nglob='}'",
       "x.toml:7: artifacts[1].glob = \"}\": has a single }; a brace is written {{ or }}"},
      // The result.
      {"[result]\nfile='a'",
       "x.toml:4: result.read is missing: must be exit-code, text, json or "
       "jsonl"},
      {"result.read='xml'",
       "x.toml:4: result.read = \"xml\": must be exit-code, text, json or jsonl"},
      {"result.read='exit-code'\nresult.file='a'",
       "x.toml:5: result.file = \"a\": must not stand beside read = \"exit-code\""},
      {"result.read='exit-code'\nresult.most_bytes=1",
       "x.toml:5: result.most_bytes = 1: must not stand beside read = \"exit-code\""},
      {"result.read='text'\nresult.value='/a'",
       "x.toml:5: result.value = \"/a\": must only stand beside read = \"json\" or \"jsonl\""},
      {"result.read='json'\nresult.where={}",
       "x.toml:5: result.where = a table: must only stand beside read = \"jsonl\""},
      {"result.read='json'\nresult.value='a'",
       "x.toml:5: result.value = \"a\": must be empty or begin with /, such as /result/text"},
      {"result.read='jsonl'\nresult.where.type='a'",
       "x.toml:5: result.where.type = \"a\": is no JSON pointer: it must be empty or begin with /"},
      {"result.read='jsonl'\nresult.where.'/a'=1.5",
       "x.toml:5: result.where.\"/a\" = a fraction: must be a text, a whole number, true or false"},
      {"result.read='jsonl'\nresult.most_bytes=-1",
       "x.toml:5: result.most_bytes = -1: must be a number of bytes from 1"},
      // No TOML.
      {"a = ", "x.toml:4: not TOML: "},
      {"name = 'again'", "x.toml:4: not TOML: "},
  };
  for (const Wrong& one : all) {
    EXPECT_THAT(error_of(one.lines), HasSubstr(one.error)) << one.lines;
  }
}

TEST(AdapterFile, NeedsANameAndACommandThatAreRight) {
  const auto error = [](std::string_view toml) {
    const auto spec = parse_spec(toml, "x.toml");
    return spec ? std::string("accepted") : spec.error().message;
  };
  EXPECT_EQ(error(""), "x.toml:1: name is missing: must be letters, digits, ., _ and -");
  EXPECT_EQ(error("name='a b'"), "x.toml:1: name = \"a b\": must be letters, digits, ., _ and -");
  EXPECT_EQ(error("name=3"), "x.toml:1: name = 3: must be a text in quotes");
  EXPECT_EQ(error("name='a'"), "x.toml:1: command is missing: must be a table with argv");
  EXPECT_EQ(error("name='a'\ncommand='b'"), "x.toml:2: command = \"b\": must be a table");
  EXPECT_EQ(error("name='a'\n[command]"),
            "x.toml:2: command.argv is missing: must be a list of words in quotes");
  EXPECT_EQ(error("name='a'\n[command]\nargv='ls'"),
            "x.toml:3: command.argv = \"ls\": must be a list of words in quotes");
  EXPECT_EQ(error("name='a'\n[command]\nargv=['ls', 1]"),
            "x.toml:3: command.argv = 1: must be a list of words in quotes");
  EXPECT_EQ(
      error("name='a'\n[command]\nargv=['ls', '-{arguments}']"),
      "x.toml:3: command.argv = \"-{arguments}\": must have {arguments} as a word of its own in "
      "command.argv");
  EXPECT_EQ(error("name='a'\n[command]\nargv=[\"ls\\u0000\"]"),
            "x.toml:3: command.argv = \"ls\\u0000\": must not hold a NUL byte");
  EXPECT_EQ(error("name='a'\n[command]\nargv=['ls']\nuser='x'"),
            "x.toml:4: command.user = \"x\": is no key of an adapter; here there are argv, "
            "environment");
}

// toml++ 3.3 would end the program.
TEST(AdapterFile, WithAHeaderThatHasNoNameIsNoToml) {
  for (const char* header : {"[", "[\n", "[=", "[[=", "[#", "[.a]", "[\xc3\xa9]", " [ ]", "[ [a]]",
                             "[[[", "[]", "[[", "[\r\n"}) {
    EXPECT_EQ(error_of(header), "x.toml:4: not TOML: a table header must have a name behind its [")
        << header;
  }
  // In a value, [ is a list or a text.
  for (const char* value : {"\'\'\'\n[ -e x ]\n\'\'\'", "\"\"\"\n[=\n\\\"\"\"\n[=\n\"\"\"",
                            "\'\'\'a\n[=\'\'\'\'\'", "\"[\\\"\" # [\"\n# [="}) {
    EXPECT_EQ(error_of("description = " + std::string(value) + "\n"), "accepted") << value;
    EXPECT_EQ(error_of("description = " + std::string(value) + "\n[="),
              "x.toml:" + std::to_string(5 + std::ranges::count(std::string_view(value), '\n')) +
                  ": not TOML: a table header must have a name behind its [")
        << value;
  }
  EXPECT_THAT(error_of("result.read = [\n[\n[]]]\n"), HasSubstr("result.read = a list: must be"));
}

TEST(AdapterFile, HasLettersBeyondAsciiInTextsAndComments) {
  for (const char* line :
       {"description = '\xc3\xa9'", "# \xd1\x89", "description = \"\"\"\n\xd1\x89\"\"\"",
        "params.q.default = '\xe2\x80\x83' # \xe2\x80\x83"}) {
    EXPECT_EQ(error_of(line), "accepted") << line;
  }
  EXPECT_TRUE(parse_spec("\xEF\xBB\xBFname = 'a'\ncommand.argv = ['a']", "x.toml"));
  for (const char* line : {"\xd1\x89", "\xc3\xa9 = 1", "description = \xd1\x89", "[a\xc3\xa9]",
                           "\xe2\x80\x83", "result = { \xd1\x89 = 1 }", "\xff"}) {
    EXPECT_EQ(error_of(line),
              "x.toml:4: not TOML: a letter beyond ASCII must stand in quotes, or behind a #")
        << line;
  }
}

TEST(AdapterFile, IsToldOfInItsFirstLineThatIsWrongAndInShort) {
  EXPECT_THAT(error_of("description = '" + std::string(500, 'x') + "'\nname2 = 1\n"),
              HasSubstr("x.toml:5: name2"));
  EXPECT_THAT(error_of("result.read = '" + std::string(500, 'x') + "'"),
              HasSubstr("\"" + std::string(60, 'x') + "\"...: must be"));
}

// The command.

AdapterSpec with_argv(std::string_view argv) {
  return parsed("name = 'a'\n[params.p]\ndefault = 'x'\n[command]\nargv = " + std::string(argv) +
                "\nenvironment = { B = '{param.model}', A = '{workdir}' }\n[params.model]\n");
}

TEST(AdapterCommand, IsItsWordsWithTheArgumentsInTheirPlace) {
  const auto command =
      build_command(with_argv("['run', '{arguments}', '{param.model}', '']"),
                    {.session = "/s", .arguments = {"{workdir}", "b c"}}, values());
  ASSERT_TRUE(command) << command.error().text();
  EXPECT_THAT(command->argv, ElementsAre("run", "{workdir}", "b c", "big one", ""));
  EXPECT_THAT(command->environment, ElementsAre(Pair("A", "/work"), Pair("B", "big one")));
}

TEST(AdapterCommand, RefusesArgumentsThatItHasNoPlaceFor) {
  const auto command =
      build_command(with_argv("['run']"), {.session = "/s", .arguments = {"-x"}}, values());
  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().text(),
            "the adapter 'a' takes no words behind --, such as '-x'; leave them out, or put "
            "{arguments} into its command.argv");
}

TEST(AdapterCommand, NeedsAProgram) {
  for (const char* argv : {"['{arguments}']", "['{param.empty}', 'a']"}) {
    Values some = values();
    some.parameters["empty"] = "";
    const AdapterSpec spec =
        parsed("name = 'a'\nparams.empty = {}\n[command]\nargv = " + std::string(argv));
    const auto command = build_command(spec, {.session = "/s"}, some);
    ASSERT_FALSE(command);
    EXPECT_THAT(command.error().text(), HasSubstr("has no program to run")) << argv;
  }
}

// execve would end the word at the NUL, and refuse one of 128 KiB with E2BIG.
TEST(AdapterCommand, HasNoWordThatLinuxCannotPass) {
  const AdapterSpec spec = parsed("name = 'a'\n[command]\nargv = ['run', '{input.text}']");
  const auto error = [&](std::string input) {
    Values some = values();
    some.input_text = std::move(input);
    const auto command = build_command(spec, {.session = "/s"}, some);
    return command ? "built" : command.error().text();
  };
  EXPECT_THAT(error(std::string("a\0b", 3)), HasSubstr("would hold a NUL byte"));
  EXPECT_EQ(error(std::string((128 << 10) - 1, 'x')), "built");
  EXPECT_THAT(error(std::string(128 << 10, 'x')), HasSubstr("longer than Linux takes"));
}

TEST(AdapterCommand, KnowsWhereRelativePathsStart) {
  const AdapterSpec spec =
      parsed("name = 'a'\ncommand.argv = ['a']\n[[files]]\ntext = ''\nto = 'x/y'");
  EXPECT_EQ(*inside_path(spec.files[0].to, values()), "/work/x/y");
  EXPECT_EQ(
      inside_path(spec.files[0].to, Values{}).error().text(),
      "'x/y' is relative, and where the command runs is not known; say where the command runs "
      "(--workdir)");
}

// Parameters.

TEST(AdapterParameters, AreGivenOrFromTheEnvironmentOrByDefault) {
  const AdapterSpec spec =
      parsed("name = 'a'\ncommand.argv = ['a']\n[params.p]\ndefault = '{home}/d'\nenv = 'P'\n");
  const auto value = [&](const AdapterRun& run) {
    Values some{.home = "/root"};
    EXPECT_TRUE(resolve_parameters(spec, run, some));
    return some.parameters["p"];
  };
  const auto environment = [](std::string_view name) -> std::optional<std::string> {
    if (name == "P") return "from P";
    return std::nullopt;
  };
  EXPECT_EQ(value({.session = "/s"}), "/root/d");
  EXPECT_EQ(value({.session = "/s", .environment = environment}), "from P");
  EXPECT_EQ(value({.session = "/s", .parameters = {{"p", "{home}"}}, .environment = environment}),
            "{home}");
  EXPECT_TRUE(defaults_use(spec, {.session = "/s"}, Source::home));
  EXPECT_FALSE(defaults_use(spec, {.session = "/s", .environment = environment}, Source::home));
}

TEST(AdapterParameters, ThatAreMissingOrUnknownAreToldWithWhatToDo) {
  const AdapterSpec spec = parsed(
      "name = 'a'\ncommand.argv = ['a']\n[params.p]\ndescription = 'the p'\nenv = "
      "'P'\n[params.q]\n");
  const auto error = [&](const AdapterRun& run) {
    Values some;
    const auto resolved = resolve_parameters(spec, run, some);
    return resolved ? "resolved" : resolved.error().text();
  };
  EXPECT_EQ(error({.session = "/s"}),
            "the adapter 'a' needs its parameter 'p' (the p); set it: --param p=VALUE, or the "
            "variable P");
  EXPECT_EQ(error({.session = "/s", .parameters = {{"p", ""}}}),
            "the adapter 'a' needs its parameter 'q'; set it: --param q=VALUE");
  EXPECT_EQ(error({.session = "/s", .parameters = {{"r", ""}}}),
            "the adapter 'a' has no parameter 'r'; its parameters: p, q");
}

}  // namespace
}  // namespace quietus::adapters
