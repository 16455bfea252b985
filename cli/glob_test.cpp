#include "cli/glob.hpp"

#include <gtest/gtest.h>

namespace quietus::cli {
namespace {

TEST(CtlGlob, APatternIsSplitAtItsFirstWildcard) {
  const Pattern pattern = parse_pattern("/work/out/*/log-?.txt", "");
  EXPECT_EQ(pattern.folder, "/work/out");
  EXPECT_EQ(pattern.rest, "*/log-?.txt");
  EXPECT_EQ(pattern.under, "");
  EXPECT_EQ(pattern.depth, 2);
}

TEST(CtlGlob, ARelativePatternBeginsInTheWorkdirAndKeepsItsPath) {
  const Pattern pattern = parse_pattern("./logs//a/*.txt", "/work/");
  EXPECT_EQ(pattern.folder, "/work/logs/a");
  EXPECT_EQ(pattern.under, "logs/a");
  EXPECT_EQ(pattern.rest, "*.txt");
}

TEST(CtlGlob, APathIsAPatternWithoutARest) {
  const Pattern pattern = parse_pattern("/a/b.txt", "/w");
  EXPECT_EQ(pattern.folder, "/a/b.txt");
  EXPECT_EQ(pattern.rest, "");
  EXPECT_EQ(parse_pattern("b/c.txt", "/w").under, "b/c.txt");
  EXPECT_EQ(parse_pattern("/*", "").folder, "");
}

TEST(CtlGlob, TwoStarsGoAnyDepth) {
  EXPECT_EQ(parse_pattern("/a/**/x", "").depth, 0);
  EXPECT_TRUE(matches("**/x", "x"));
  EXPECT_TRUE(matches("**/x", "a/b/x"));
  EXPECT_TRUE(matches("a/**", "a/b/c"));
  EXPECT_TRUE(matches("a/**/b/**/c", "a/b/c"));
  EXPECT_TRUE(matches("a/**/b/**/c", "a/1/2/b/3/c"));
  EXPECT_FALSE(matches("**/x", "a/xx"));
  EXPECT_FALSE(matches("a/**/b", "a/b/c"));
}

struct Case {
  const char* pattern;
  const char* path;
  bool matches;
};

TEST(CtlGlob, WithinAName) {
  constexpr Case kCases[] = {
      {"*", "a", true},
      {"*", ".a", true},
      {"*", "a/b", false},
      {"*.txt", "a.txt", true},
      {"*.txt", "a.txt.gz", false},
      {"a*b*c", "aXbYbZc", true},
      {"a*b*c", "aXbY", false},
      {"?", "a", true},
      {"?", "", false},
      {"?", "ab", false},
      {"[abc]", "b", true},
      {"[a-c]x", "bx", true},
      {"[!a-c]", "b", false},
      {"[!a-c]", "d", true},
      {"[^a]", "b", true},
      {"[]]", "]", true},
      {"[!]]", "]", false},
      {"[a-]", "-", true},
      {"[", "[", true},
      {"[a", "[a", true},
      {"a/b", "a/b", true},
      {"a/b", "a", false},
      {"a", "a/b", false},
      {"", "a", false},
      {"\\*", "\\x", true},
  };
  for (const Case& each : kCases) {
    EXPECT_EQ(matches(each.pattern, each.path), each.matches) << each.pattern << ' ' << each.path;
  }
}

TEST(CtlGlob, NoPatternTakesLong) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(matches(pattern + "b", std::string(2000, 'a')));
  std::string folders;
  for (int i = 0; i < 200; ++i) folders += "**/a/";
  std::string path;
  for (int i = 0; i < 1000; ++i) path += "a/";
  EXPECT_FALSE(matches(folders + "b", path + "c"));
}

TEST(CtlGlob, OnlyPathsThatStayBelowComeThrough) {
  EXPECT_EQ(path_below("/a", "/a/b/c"), "b/c");
  EXPECT_EQ(path_below("", "/b"), "b");
  for (const char* path : {"/a", "/a/", "/ab", "/a/../b", "/a/b/..", "/a//b", "/a/./b", "b", ""}) {
    EXPECT_FALSE(path_below("/a", path)) << path;
  }
}

}  // namespace
}  // namespace quietus::cli
