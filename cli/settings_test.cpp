#include "cli/settings.hpp"

#include <gtest/gtest.h>

namespace quietus::cli {
namespace {

using Strings = std::vector<std::string>;

Lookup environment(std::map<std::string, std::string, std::less<>> variables) {
  return [variables](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Layer file(std::string_view toml) {
  auto layer = parse_config(toml, "config.toml");
  EXPECT_TRUE(layer) << layer.error().text;
  return layer ? *layer : Layer{};
}

std::string refused_file(std::string_view toml) {
  const auto layer = parse_config(toml, "config.toml");
  EXPECT_FALSE(layer) << "was not refused: " << toml;
  return layer ? "" : layer.error().text;
}

TEST(CtlSettings, TheOptionWinsOverTheVariableOverTheFileOverTheDefault) {
  const Layer options = {{"parallel", {{"4"}, "argument --parallel"}}};
  const Layer from_file = file("parallel = 2\nmax_artifact = \"2MiB\"\noutput_limit = \"1MiB\"\n");
  const auto variables = environment({{"QUIETUS_PARALLEL", "3"}, {"QUIETUS_MAX_ARTIFACT", "3MiB"}});
  const Layer layer = resolve(options, variables, from_file);
  EXPECT_EQ(layer.at("parallel").words, Strings{"4"});
  EXPECT_EQ(layer.at("parallel").origin, "argument --parallel");
  EXPECT_EQ(layer.at("max_artifact").words, Strings{"3MiB"});
  EXPECT_EQ(layer.at("max_artifact").origin, "QUIETUS_MAX_ARTIFACT");
  EXPECT_EQ(layer.at("output_limit").words, Strings{"1MiB"});
  EXPECT_EQ(layer.at("output_limit").origin, "config.toml:3: output_limit");
  EXPECT_EQ(layer.at("close_timeout").origin, "default");
  EXPECT_FALSE(layer.contains("sandbox"));
  const auto settings = checked(layer);
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->parallel, 4);
  EXPECT_EQ(settings->max_artifact, 3u << 20);
  EXPECT_EQ(settings->close_timeout, std::chrono::seconds(30));
  EXPECT_EQ(settings->timeout, kForever);
}

TEST(CtlSettings, AnEmptyVariableIsNone) {
  const Layer layer = resolve({}, environment({{"QUIETUS_PARALLEL", ""}}), {});
  EXPECT_EQ(layer.at("parallel").origin, "default");
}

TEST(CtlSettings, ProgramsComeFromAllThree) {
  const Layer from_file =
      file("[program]\npodman = [\"podman\", \"--log level\"]\nssh = \"ssh -v\"\n");
  const auto variables =
      environment({{"QUIETUS_PROGRAM_SSH", "ssh -q"}, {"QUIETUS_CREATE_OPTIONS", "--init -v"}});
  const auto settings = checked(resolve({}, variables, from_file));
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->programs.at("podman"), (Strings{"podman", "--log level"}));
  EXPECT_EQ(settings->programs.at("ssh"), (Strings{"ssh", "-q"}));
  EXPECT_EQ(settings->create_options, (Strings{"--init", "-v"}));
}

TEST(CtlSettings, NumbersInTheFileNeedNoQuotes) {
  const auto settings = checked(resolve({}, environment({}), file("timeout = 90\n")));
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->timeout, std::chrono::seconds(90));
}

TEST(CtlSettings, AWrongFileIsToldWithItsLine) {
  EXPECT_EQ(refused_file("\nbogus = 1\n"), "config.toml:2: there is no setting 'bogus'");
  EXPECT_EQ(refused_file("timeout = true\n"),
            "config.toml:1: timeout must be a text or a whole number");
  EXPECT_EQ(refused_file("create_options = [1]\n"),
            "config.toml:1: create_options must hold texts only");
  EXPECT_EQ(refused_file("program = 1\n"), "config.toml:1: program must be a table");
  EXPECT_EQ(refused_file("[program]\nsh = \"x\"\n"),
            "config.toml:2: program: there is no tool 'sh'");
  EXPECT_EQ(refused_file("timeout = \n").rfind("config.toml:1: ", 0), 0u);
  // toml++ 3.3 ends the program, or worse, where a header has no name.
  for (const char* header : {"[[[", "[=", "[[=", "[#", "[", "[.a]", "[\\", "[\xc3\xa9]", " [ ]"}) {
    EXPECT_EQ(refused_file(std::string("\n") + header + "\n"),
              "config.toml:2: a table header must have a name behind its [")
        << header;
  }
}

TEST(CtlSettings, AWrongValueIsToldWithItsOrigin) {
  struct Case {
    const char* key;
    const char* value;
    const char* rule;
  };
  const Case cases[] = {
      {"sandbox", "", "the name of a sandbox"},      {"timeout", "0", "finite and positive"},
      {"timeout", "soon", "finite and positive"},    {"close_timeout", "-1", "finite and positive"},
      {"max_artifact", "0", "a number of bytes"},    {"output_limit", "x", "a number of bytes"},
      {"output_limit", "2GiB", "1GiB at most"},      {"shield", "on", "auto, off, try or require"},
      {"session_parent", "tmp", "an absolute path"}, {"payload", "", "a path"},
      {"parallel", "0", "a number from 1"},          {"create_options", "", "a word"},
  };
  for (const Case& each : cases) {
    const Layer options = {{each.key, {{each.value}, "argument --this"}}};
    const auto settings = checked(resolve(options, environment({}), {}));
    ASSERT_FALSE(settings) << each.key;
    EXPECT_EQ(settings.error().text.rfind("argument --this: must be " + std::string(each.rule), 0),
              0u)
        << settings.error().text;
  }
  const Layer options = {{"program.ssh", {{}, "argument --program"}}};
  const auto settings = checked(resolve(options, environment({}), {}));
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().text, "argument --program: must be a program and its options, not ''");
}

TEST(CtlSettings, TheFileIsWhereXdgSays) {
  EXPECT_EQ(config_path(environment({{"XDG_CONFIG_HOME", "/c"}, {"HOME", "/h"}})),
            "/c/quietus/config.toml");
  EXPECT_EQ(config_path(environment({{"XDG_CONFIG_HOME", "relative"}, {"HOME", "/h"}})),
            "/h/.config/quietus/config.toml");
  EXPECT_EQ(config_path(environment({})), "");
}

}  // namespace
}  // namespace quietus::cli
