#include "cli/artifact_pattern.hpp"

#include <gtest/gtest.h>

namespace quietus::cli {
namespace {

Pattern pattern(std::string_view glob, std::string_view workdir) {
  auto parsed = parse_pattern(glob, workdir);
  EXPECT_TRUE(parsed) << glob << ' ' << parsed.error();
  return *parsed;
}

TEST(CtlPattern, IsSplitAtItsFirstWildcard) {
  const Pattern absolute = pattern("/work/out/*/log-?.txt", "");
  EXPECT_EQ(absolute.glob.base(), "/work/out");
  EXPECT_EQ(absolute.glob.depth(), 2u);
  EXPECT_EQ(absolute.glob.match("/work/out/a/log-1.txt"), "a/log-1.txt");
  EXPECT_EQ(absolute.under, "");
  EXPECT_EQ(pattern("/*", "/w").glob.base(), "/");
}

TEST(CtlPattern, ThatIsRelativeBeginsInTheWorkdirAndKeepsItsPath) {
  const Pattern relative = pattern("./logs//a/*.txt", "/work/");
  EXPECT_EQ(relative.glob.base(), "/work/logs/a");
  EXPECT_EQ(relative.under, "logs/a");
  EXPECT_EQ(relative.glob.match("/work/logs/a/x.txt"), "x.txt");
  EXPECT_EQ(pattern("*", "/work").under, "");
  EXPECT_EQ(pattern("logs/*", "/").glob.base(), "/logs");
  EXPECT_EQ(pattern("logs/*", "/").under, "logs");
  // The workdir is a path, whatever is in it.
  EXPECT_EQ(pattern("a[12]/*", "/w[1]*").glob.base(), "/w[1]*");
  EXPECT_EQ(pattern("a[12]/*", "/w[1]*").glob.match("/w[1]*/a2/b"), "a2/b");
}

TEST(CtlPattern, WithoutWildcardsIsAPath) {
  const Pattern absolute = pattern("/a/b.txt", "/w");
  EXPECT_TRUE(absolute.glob.literal());
  EXPECT_EQ(absolute.glob.base(), "/a/b.txt");
  EXPECT_EQ(absolute.under, "");
  EXPECT_EQ(pattern("b/c.txt", "/w").under, "b/c.txt");
  EXPECT_EQ(pattern(".", "/w").glob.base(), "/w");
  EXPECT_EQ(pattern("b\\[1].txt", "/w").glob.base(), "/w/b[1].txt");
}

TEST(CtlPattern, ThatIsWrongSaysTheRule) {
  EXPECT_EQ(parse_pattern("a/../b", "/w").error(), "must not have an empty name, . or .. in it");
  EXPECT_EQ(parse_pattern("a[", "/w").error(), "has a [ without its ]");
  EXPECT_EQ(parse_pattern("/./", "/w").error(), "must not be the root");
  EXPECT_EQ(parse_pattern(".", "/").error(), "must not be the root");
  EXPECT_EQ(parse_pattern("", "/w").error(), "must not be empty");
}

}  // namespace
}  // namespace quietus::cli
