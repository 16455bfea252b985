// Artifacts: which files come, where they go, and where they never go.
#include <filesystem>

#include "ctl_scene.hpp"

namespace cli_tests {
namespace {

namespace fs = std::filesystem;

class CtlCollect : public CtlScene {
 protected:
  void SetUp() override {
    CtlScene::SetUp();
    for (const char* folder : {"work/a/b", "work/empty"}) fs::create_directories(path(folder));
    write_file(path("work/top.json"), "top");
    write_file(path("work/a/one.json"), "one");
    write_file(path("work/a/two.txt"), "two");
    write_file(path("work/a/b/deep.json"), "deep");
    write_file(path("work/a/ blank\n.json"), "blank");
  }

  Ended collect(const Words& globs, const Words& more = {}) {
    Words words = {"run", "--json", "-C", path("work"), "--into", path("got")};
    for (const std::string& glob : globs) words = words + Words{"--collect", glob};
    return does(words + more + Words{"true"});
  }

  Words got() const {
    Words names;
    std::error_code error;
    for (const auto& each : fs::recursive_directory_iterator(path("got"), error)) {
      if (!each.is_directory()) names.push_back(fs::relative(each.path(), path("got")));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(CtlCollect, RelativePatternsKeepTheirPath) {
  const Ended ended = collect({"a/*.json", "top.json"});
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_EQ(got(), (Words{"a/ blank\n.json", "a/one.json", "top.json"}));
  EXPECT_EQ(read_file(path("got/a/one.json")), "one");
  EXPECT_EQ(Json::parse(ended.out).size("/artifacts"), 3u);
}

TEST_F(CtlCollect, AbsolutePatternsBeginWhereTheirWildcardsDo) {
  EXPECT_EQ(collect({path("work/**/*.json")}).status, 0);
  EXPECT_EQ(got(), (Words{"a/ blank\n.json", "a/b/deep.json", "a/one.json", "top.json"}));
}

// A .. leads to the parent of what a symlink means, which only the file system knows.
TEST_F(CtlCollect, TheWorkdirMayLeadUpwards) {
  fs::create_directory_symlink(path("work/a"), path("link"));
  const Ended ended = collect({"*.json"}, {"-C", path("link/..")});
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_EQ(got(), (Words{"top.json"}));
}

TEST_F(CtlCollect, ABackslashMakesAWildcardPlain) {
  write_file(path("work/a[1].json"), "bracket");
  write_file(path("work/a1.json"), "plain");
  EXPECT_EQ(collect({"a\\[1].json"}).status, 0);
  EXPECT_EQ(got(), (Words{"a[1].json"}));
  EXPECT_EQ(collect({"a[1].json"}).status, 0);
  EXPECT_EQ(got(), (Words{"a1.json", "a[1].json"}));
}

TEST_F(CtlCollect, ADirectoryComesAsATree) {
  EXPECT_EQ(collect({path("work/a")}).status, 0);
  EXPECT_EQ(got(), (Words{"a/ blank\n.json", "a/b/deep.json", "a/one.json", "a/two.txt"}));
}

TEST_F(CtlCollect, AFileThatTwoPatternsNameComesOnce) {
  const Ended ended = collect({"a/one.*", "a/*.json"});
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_EQ(Json::parse(ended.out).size("/artifacts"), 2u);
}

TEST_F(CtlCollect, TwoFilesOfOneNameAreTold) {
  write_file(path("work/a/b/one.json"), "another");
  const Ended ended = collect({path("work/a/*.json"), path("work/a/b/*.json")});
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_EQ(read_file(path("got/one.json")), "one") << "the first stays";
  EXPECT_EQ(Json::parse(ended.out).size("/problems"), 1u);
}

TEST_F(CtlCollect, WhatMatchesNothingIsAWarning) {
  const Ended ended = collect({"nothing-*", "not-there", "top.json"});
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_EQ(Json::parse(ended.out).texts("/missing"), (Words{"nothing-*", "not-there"}));
  EXPECT_EQ(got(), Words{"top.json"});
}

TEST_F(CtlCollect, MoreThanTheLimitIsAProblemAndLeavesNoPart) {
  write_file(path("work/large.json"), std::string(3000, 'x'));
  const Ended ended = collect({"large.json", "top.json"}, {"--max-artifact", "2KiB"});
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_EQ(got(), Words{"top.json"});
}

TEST_F(CtlCollect, TheLimitIsForAllTogether) {
  for (const char* name : {"x1", "x2", "x3"}) {
    write_file(path("work/") + name, std::string(1000, 'x'));
  }
  const Ended ended = collect({"x?"}, {"--max-artifact", "2KiB"});
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_EQ(got(), (Words{"x1", "x2"}));
}

// What came before, from a sandbox that nobody trusts, must not be a way out.
TEST_F(CtlCollect, ASymlinkAtTheDestinationIsNoWayOut) {
  fs::create_directories(path("got"));
  fs::create_directories(path("elsewhere"));
  fs::create_symlink(path("elsewhere"), path("got/a"));
  const Ended ended = collect({"a/one.json", "top.json"});
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_TRUE(fs::is_empty(path("elsewhere")));
  EXPECT_EQ(read_file(path("got/top.json")), "top");
}

TEST_F(CtlCollect, SymlinksInTheSandboxAreNotFollowedByPatterns) {
  fs::create_symlink("/etc/passwd", path("work/link.json"));
  EXPECT_EQ(collect({"*.json"}).status, 0);
  EXPECT_EQ(got(), Words{"top.json"});
}

TEST_F(CtlCollect, AFileReplacesTheOneOfAnEarlierRun) {
  EXPECT_EQ(collect({"top.json"}).status, 0);
  write_file(path("work/top.json"), "newer");
  EXPECT_EQ(collect({"top.json"}).status, 0);
  EXPECT_EQ(read_file(path("got/top.json")), "newer");
}

TEST_F(CtlCollect, AfterAFailedCommandTheyComeAllTheSame) {
  const Ended ended = does({"run", "-C", path("work"), "--collect", "top.json", "--into",
                            path("got"), "--", "sh", "-c", "exit 9"});
  EXPECT_EQ(ended.status, 9) << ended.text();
  EXPECT_EQ(got(), Words{"top.json"});
}

}  // namespace
}  // namespace cli_tests
