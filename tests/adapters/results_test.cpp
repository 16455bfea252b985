// What a harness wrote, read back without trust.
#include "client/adapters/results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quietus::adapters {
namespace {

using testing::HasSubstr;

Pointer pointer(std::string_view text) {
  const auto parsed = Pointer::parse(text);
  EXPECT_TRUE(parsed) << text << ' ' << parsed.error();
  return *parsed;
}

std::string json_of(const Expected<HarnessResult>& result) {
  return result ? result->json : "error: " + result.error().text();
}

TEST(ResultOfJson, IsTheValueAtItsPlace) {
  constexpr std::string_view kDocument =
      R"({"a": [1, {"b/c": "text", "~": null}], "": true, "n": 1.5})";
  EXPECT_EQ(json_of(read_json(kDocument, pointer("/a/0"))), "1");
  EXPECT_EQ(json_of(read_json(kDocument, pointer("/a/1/b~1c"))), "\"text\"");
  EXPECT_EQ(read_json(kDocument, pointer("/a/1/b~1c"))->text, "text");
  EXPECT_EQ(json_of(read_json(kDocument, pointer("/a/1/~0"))), "null");
  EXPECT_EQ(json_of(read_json(kDocument, pointer("/"))), "true");
  EXPECT_EQ(json_of(read_json(kDocument, pointer("/n"))), "1.5");
  EXPECT_EQ(read_json(kDocument, pointer("/n"))->text, std::nullopt);
  EXPECT_EQ(json_of(read_json(" [1,2] ", pointer(""))), "[1,2]");
}

TEST(ResultOfJson, ThatIsNotThereIsAnErrorThatNamesThePlace) {
  for (const char* place : {"/b", "/a/2", "/a/01", "/a/-", "/a/-1", "/a/x", "/a/0/c"}) {
    EXPECT_THAT(json_of(read_json(R"({"a": [1, 2]})", pointer(place))),
                HasSubstr(std::string("has no ") + place));
  }
}

TEST(ResultOfJson, MustBeJson) {
  for (const char* bytes : {"", "{", "{} {}", "nope", "{\"a\": \xff}"}) {
    EXPECT_THAT(json_of(read_json(bytes, pointer(""))), HasSubstr("is not JSON")) << bytes;
  }
}

// Each level is a stack frame when a value is written out again.
TEST(ResultOfJson, MayNotBeAsDeepAsItLikes) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(json_of(read_json(nested(200), pointer(""))), nested(200));
  EXPECT_THAT(json_of(read_json(nested(1000000), pointer(""))), HasSubstr("is not JSON"));
  EXPECT_EQ(json_of(read_json('"' + std::string(1000, '[') + "\\\"{\"", pointer(""))),
            '"' + std::string(1000, '[') + "\\\"{\"");
}

TEST(ResultOfLines, IsInTheLastObject) {
  EXPECT_EQ(json_of(read_json_lines("{\"v\": 1}\n{\"v\": 2}\n", pointer("/v"), {})), "2");
  EXPECT_EQ(json_of(read_json_lines("{\"v\": 1}\n{\"v\": 2}", pointer("/v"), {})), "2");
  EXPECT_EQ(json_of(read_json_lines("{\"v\": 1}\r\n\n\n", pointer("/v"), {})), "1");
}

TEST(ResultOfLines, PassesOverWhatIsNone) {
  constexpr std::string_view kLog =
      "warning: first\n{\"v\": 1}\nnpm warn deprecated\n[2]\n3\n{\"v\": 4, \"torn\": \"li";
  EXPECT_EQ(json_of(read_json_lines(kLog, pointer("/v"), {})), "1");
}

TEST(ResultOfLines, MeetsAllConditions) {
  constexpr std::string_view kLog =
      "{\"type\": \"text\", \"last\": true, \"n\": 1, \"v\": \"a\"}\n"
      "{\"type\": \"text\", \"last\": false, \"n\": 1, \"v\": \"b\"}\n"
      "{\"type\": \"step\", \"last\": true, \"n\": 1, \"v\": \"c\"}\n"
      "{\"last\": true, \"v\": \"d\"}\n";
  const auto read = [&](std::vector<Condition> conditions) {
    return json_of(read_json_lines(kLog, pointer("/v"), conditions));
  };
  EXPECT_EQ(read({{pointer("/type"), "\"text\""}}), "\"b\"");
  EXPECT_EQ(read({{pointer("/type"), "\"text\""}, {pointer("/last"), "true"}}), "\"a\"");
  EXPECT_EQ(read({{pointer("/n"), "1"}}), "\"c\"");
  EXPECT_THAT(read({{pointer("/type"), "\"none\""}}), HasSubstr("no line of JSON such as"));
}

TEST(ResultOfLines, NeedsALine) {
  EXPECT_THAT(json_of(read_json_lines("", pointer(""), {})), HasSubstr("no line that it wrote"));
  EXPECT_THAT(json_of(read_json_lines("words\n", pointer(""), {})),
              HasSubstr("no line that it wrote"));
  EXPECT_THAT(json_of(read_json_lines("{}\n", pointer("/v"), {})), HasSubstr("has no /v"));
}

TEST(ResultOfText, IsAllButTheEndOfTheLastLine) {
  EXPECT_EQ(read_text(" two\nlines \r\n\n")->text, " two\nlines");
  EXPECT_EQ(json_of(read_text("say \"hi\"\n")), R"("say \"hi\"")");
  EXPECT_EQ(read_text("")->text, "");
}

TEST(ResultOfTheExitCode, IsTheReceipts) {
  EXPECT_EQ(json_of(read_exit_code({.cleanup_confirmed = true, .return_code = 3})), "3");
  EXPECT_EQ(json_of(read_exit_code({.cleanup_confirmed = true, .return_code = -9})), "-9");
  EXPECT_THAT(json_of(read_exit_code({.cleanup_confirmed = true})), HasSubstr("not known"));
}

TEST(Pointers, ThatAreWrongSayTheRule) {
  EXPECT_THAT(Pointer::parse("a").error(), HasSubstr("begin with /"));
  EXPECT_THAT(Pointer::parse("/a~").error(), HasSubstr("behind a ~"));
  EXPECT_THAT(Pointer::parse("/~2").error(), HasSubstr("behind a ~"));
}

}  // namespace
}  // namespace quietus::adapters
