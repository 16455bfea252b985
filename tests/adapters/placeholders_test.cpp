// Texts with placeholders: what they may hold, and what becomes of them.
#include "client/adapters/placeholders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quietus::adapters {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kParameters = {"model", "a-b"};

Values all_values() {
  return {.workdir = "/work",
          .session = "/tmp/s",
          .home = "/root",
          .input = "/tmp/s/input/task.md",
          .input_text = "say \"hi\"",
          .parameters = {{"model", "big one"}, {"a-b", "{workdir}"}},
          .environment = [](std::string_view name) -> std::optional<std::string> {
            if (name == "EMPTY") return "";
            if (name == "KEY") return "it's";
            return std::nullopt;
          }};
}

std::string expanded(std::string_view text) {
  const auto parsed = Text::parse(text, Place::inside, kParameters);
  if (!parsed) return "parse: " + parsed.error();
  const auto result = expand(*parsed, all_values());
  return result ? *result : "expand: " + result.error().text();
}

std::string refused(std::string_view text, Place place = Place::inside) {
  const auto parsed = Text::parse(text, place, kParameters);
  return parsed ? "accepted" : parsed.error();
}

TEST(Placeholders, StandForTheValuesOfTheRun) {
  EXPECT_EQ(expanded("{workdir}/a {session} {home}"), "/work/a /tmp/s /root");
  EXPECT_EQ(expanded("<{input}>"), "</tmp/s/input/task.md>");
  EXPECT_EQ(expanded("{input.text}"), "say \"hi\"");
  EXPECT_EQ(expanded("{param.model}{env:KEY}{env:EMPTY}"), "big oneit's");
}

TEST(Placeholders, AreNotLookedForInValues) { EXPECT_EQ(expanded("{param.a-b}"), "{workdir}"); }

TEST(Placeholders, CanBeWrittenAsJsonAndForAShell) {
  EXPECT_EQ(expanded("{input.text|json}"), R"("say \"hi\"")");
  EXPECT_EQ(expanded("echo {param.model|shell} {workdir|shell}"), "echo 'big one' /work");
}

TEST(Placeholders, LeaveRoomForBraces) {
  EXPECT_EQ(expanded("{{workdir}}"), "{workdir}");
  EXPECT_EQ(expanded("{{{workdir}}}"), "{/work}");
  EXPECT_EQ(expanded("{{}}"), "{}");
  EXPECT_EQ(expanded(""), "");
}

TEST(Placeholders, ThatAreUnknownNameThoseThatThereAre) {
  for (const char* text :
       {"{workdri}", "{}", "{param.}", "{param.modle}", "{env:}", "{ workdir}"}) {
    EXPECT_THAT(refused(text), HasSubstr("unknown placeholder")) << text;
    EXPECT_THAT(refused(text),
                HasSubstr("there are {workdir}, {session}, {home}, {input}, {input.text}, "
                          "{param.model}, {param.a-b}, {env:NAME}"))
        << text;
  }
}

TEST(Placeholders, OfTheSandboxAreUnknownInAPathOfThisMachine) {
  EXPECT_THAT(refused("{workdir}/x", Place::here),
              HasSubstr("there are {param.model}, {param.a-b}, {env:NAME};"));
  EXPECT_EQ(refused("{env:HOME}/{param.model}", Place::here), "accepted");
}

TEST(Placeholders, HaveBothTheirBraces) {
  EXPECT_THAT(refused("a{workdir"), HasSubstr("a { without its }"));
  EXPECT_THAT(refused("{work{dir}"), HasSubstr("a { without its }"));
  EXPECT_THAT(refused("{"), HasSubstr("a { without its }"));
  EXPECT_THAT(refused("a}b"), HasSubstr("a single }"));
  EXPECT_THAT(refused("{workdir}}"), HasSubstr("a single }"));
}

TEST(Placeholders, KnowTwoForms) {
  EXPECT_THAT(refused("{workdir|yaml}"), HasSubstr("json or shell behind the |"));
  EXPECT_THAT(refused("{workdir|}"), HasSubstr("json or shell behind the |"));
}

TEST(Placeholders, SendArgumentsToTheCommand) {
  EXPECT_THAT(refused("x{arguments}"), HasSubstr("a word of its own in command.argv"));
}

TEST(Placeholders, WithoutAValueSayWhatToGive) {
  const auto why = [](std::string_view text) {
    const auto result = expand(*Text::parse(text, Place::inside, kParameters), Values{});
    return result ? "expanded" : result.error().text();
  };
  EXPECT_EQ(why("{workdir}"),
            "the adapter asks for {workdir}, which is not known; say where the command runs "
            "(--workdir)");
  EXPECT_THAT(why("{input}"), HasSubstr("--input"));
  EXPECT_THAT(why("{input.text}"), HasSubstr("{input.text}, which is not known; give an input"));
  EXPECT_THAT(why("{env:NOT_SET}"), HasSubstr("set the variable NOT_SET"));
  EXPECT_THAT(why("{param.model}"), HasSubstr("--param model=VALUE"));
  EXPECT_THAT(why("{home}"), HasSubstr("set HOME in the sandbox"));
}

TEST(Placeholders, AreGuardedWhereTheTextIsAPattern) {
  const auto text = Text::parse("{workdir}/*", Place::inside, kParameters);
  const auto pattern =
      expand(*text, Values{.workdir = "/a*b"}, [](std::string_view) { return "<>"; });
  EXPECT_EQ(*pattern, "<>/*");
}

}  // namespace
}  // namespace quietus::adapters
