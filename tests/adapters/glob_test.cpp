// Patterns for artifacts: what they match, and that a hostile listing leads nowhere.
#include "quietus/glob.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quietus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Glob glob(std::string_view pattern) {
  auto parsed = Glob::parse(pattern);
  EXPECT_TRUE(parsed) << pattern << ' ' << parsed.error();
  return *parsed;
}

bool matches(std::string_view pattern, std::string_view path) {
  return glob(pattern).match(path).has_value();
}

struct Case {
  const char* pattern;
  const char* path;
  bool matches;
};

TEST(Globs, MatchNameByName) {
  const Case cases[] = {
      {"/w/*.txt", "/w/a.txt", true},
      {"/w/*.txt", "/w/.txt", true},
      {"/w/*.txt", "/w/a.txt.gz", false},
      {"/w/*.txt", "/w/b/a.txt", false},
      {"/w/*", "/w/.hidden", true},
      {"/w/*", "/w", false},
      {"/w/*", "/w2/a", false},
      {"/w/?", "/w/a", true},
      {"/w/?", "/w/ab", false},
      {"/w/?", "/w/", false},
      {"/w/*a*b*", "/w/xxaxxbxx", true},
      {"/w/*a*b*", "/w/xxbxxaxx", false},
      {"/w/a*a*a*a*b", "/w/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
      {"/w/[a-c]", "/w/b", true},
      {"/w/[a-c]", "/w/d", false},
      {"/w/[!a-c]", "/w/d", true},
      {"/w/[!a-c]", "/w/b", false},
      {"/w/[^a-c]", "/w/d", true},
      {"/w/[^a-c]", "/w/b", false},
      {"/w/[]x]", "/w/]", true},
      {"/w/[!]]", "/w/]", false},
      {"/w/[a-]", "/w/-", true},
      {"/w/\\*", "/w/*", true},
      {"/w/\\*", "/w/a", false},
      {"/w/\\[*", "/w/[a", true},
      {"/*/b", "/a/b", true},
      {"/*", "/a", true},
      {"/w/*/x/*", "/w/a/x/b", true},
      {"/w/*/x/*", "/w/a/y/b", false},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(matches(one.pattern, one.path), one.matches) << one.pattern << ' ' << one.path;
  }
}

TEST(Globs, MatchAnyDepthWithTwoStars) {
  const Case cases[] = {
      {"/w/**", "/w/a", true},
      {"/w/**", "/w/a/b/c", true},
      {"/w/**", "/w", false},
      {"/w/**/*.log", "/w/x.log", true},
      {"/w/**/*.log", "/w/a/b/x.log", true},
      {"/w/**/*.log", "/w/a/b/x.txt", false},
      {"/w/**/a/**/b", "/w/a/b", true},
      {"/w/**/a/**/b", "/w/1/2/a/3/b", true},
      {"/w/**/a/**/b", "/w/1/2/3/b", false},
      {"/w/a**", "/w/a/b", false},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(matches(one.pattern, one.path), one.matches) << one.pattern << ' ' << one.path;
  }
}

TEST(Globs, KeepWhatLiesBehindTheirBase) {
  EXPECT_EQ(glob("/w/out/**/*.json").base(), "/w/out");
  EXPECT_EQ(*glob("/w/out/**/*.json").match("/w/out/a/b.json"), "a/b.json");
  EXPECT_EQ(glob("/w/a\\*b/*").base(), "/w/a*b");
  EXPECT_EQ(glob("/*/x").base(), "/");
  EXPECT_EQ(*glob("/*/x").match("/a/x"), "a/x");
  EXPECT_EQ(glob("/w/*/x").depth(), 2u);
  EXPECT_EQ(glob("/w/**/x").depth(), std::nullopt);
}

TEST(Globs, WithoutWildcardsNameOnePath) {
  const Glob one = glob("/w/a\\[1].txt/");
  EXPECT_TRUE(one.literal());
  EXPECT_EQ(one.base(), "/w/a[1].txt");
  EXPECT_TRUE(one.match("/w/a[1].txt"));
  EXPECT_FALSE(one.match("/w/a[1].txt/b"));
  EXPECT_EQ(one.depth(), 0u);
}

// What is listed inside becomes a path on this machine.
TEST(Globs, TakeNoPathThatLeadsOutOfItsBase) {
  const Glob any = glob("/w/**");
  for (const char* path : {"/w/../etc/passwd", "/w/a/../../b", "/w/./a", "/w//a", "/w/a/", "/w/..",
                           "/etc/passwd", "w/a", "", "/w"}) {
    EXPECT_FALSE(any.match(path)) << path;
  }
}

TEST(Globs, ThatAreWrongSayTheRule) {
  const auto rule = [](std::string_view pattern) {
    const auto parsed = Glob::parse(pattern);
    return parsed ? "accepted" : parsed.error();
  };
  EXPECT_THAT(rule("w/*"), HasSubstr("absolute"));
  EXPECT_THAT(rule(""), HasSubstr("absolute"));
  EXPECT_THAT(rule("/"), HasSubstr("root"));
  for (const char* pattern : {"/w//a", "/w/./a", "/w/../a", "/w/\\.\\./a", "///"}) {
    EXPECT_THAT(rule(pattern), HasSubstr("empty name, . or ..")) << pattern;
  }
  EXPECT_THAT(rule("/w/[a"), HasSubstr("[ without its ]"));
  EXPECT_THAT(rule("/w/[]"), HasSubstr("[ without its ]"));
  EXPECT_THAT(rule(std::string_view("/w/\0", 4)), HasSubstr("NUL"));
}

TEST(Globs, CanMatchAnyNameAsItIs) {
  const std::string odd = "/a*b?[c]\\d";
  EXPECT_EQ(glob(glob_literal(odd)).base(), odd);
  EXPECT_TRUE(glob(glob_literal(odd)).literal());
}

TEST(Listings, AreSortedAndCompleteNames) {
  using namespace std::string_view_literals;
  EXPECT_THAT(parse_listing("/w/b\0/w/a\nx\0/w/b\0/w/cut of"sv), ElementsAre("/w/a\nx", "/w/b"));
  EXPECT_THAT(parse_listing(""), ElementsAre());
}

}  // namespace
}  // namespace quietus
