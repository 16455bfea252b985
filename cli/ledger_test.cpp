#include "cli/ledger.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/scratch.hpp"
#include "harness/tools.hpp"

namespace quietus::cli {
namespace {

namespace fs = std::filesystem;

LedgerEntry an_entry(char digit) {
  const std::string id(32, digit);
  LedgerEntry entry{.id = id, .sandbox = "local", .directory = "/tmp/quietus-" + id};
  sign(entry);
  return entry;
}

class CtlLedger : public testing::Test {
 protected:
  harness::Scratch scratch_;
  Ledger ledger_{scratch_.path("state/quietus/sessions")};

  std::string file(char digit, const std::string& suffix = ".json") const {
    return ledger_.directory() + '/' + std::string(32, digit) + suffix;
  }
  std::vector<LedgerItem> items() const {
    const auto list = ledger_.list();
    EXPECT_TRUE(list) << list.error().text();
    return list ? std::vector<LedgerItem>(list->begin(), list->end()) : std::vector<LedgerItem>();
  }
};

TEST_F(CtlLedger, IsEmptyBeforeItExists) { EXPECT_TRUE(items().empty()); }

TEST_F(CtlLedger, AnEntryIsHeldByWhoAddedItAndFreeOnceHeLetsGo) {
  {
    auto added = ledger_.add(an_entry('a'));
    ASSERT_TRUE(added) << added.error().text();
    ASSERT_EQ(items().size(), 1u);
    EXPECT_TRUE(items().front().held);
    EXPECT_FALSE(ledger_.take(std::string(32, 'a')));
  }
  ASSERT_EQ(items().size(), 1u);
  EXPECT_FALSE(items().front().held);
  auto taken = ledger_.take(std::string(32, 'a'));
  ASSERT_TRUE(taken);
  EXPECT_TRUE(items().front().held) << "whoever takes it holds it";
  EXPECT_EQ(taken->entry().pid, getpid());
  EXPECT_TRUE(taken->remove());
  EXPECT_TRUE(items().empty());
}

TEST_F(CtlLedger, TheKernelLetsGoForAControllerThatIsKilled) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto added = ledger_.add(an_entry('b'));
    (void)!write(ready[1], added ? "y" : "n", 1);
    for (;;) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ASSERT_EQ(items().size(), 1u);
  EXPECT_TRUE(items().front().held);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(items().front().held);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(CtlLedger, AWriterThatIsGoneIsNoticed) {
  LedgerEntry entry = an_entry('a');
  EXPECT_FALSE(writer_is_gone(entry));
  ++entry.start_ticks;
  EXPECT_TRUE(writer_is_gone(entry)) << "another process with his number";
  entry.boot_id = "another machine";
  EXPECT_FALSE(writer_is_gone(entry)) << "nothing is known of it here";
}

TEST_F(CtlLedger, AnUpdateKeepsTheLock) {
  auto added = ledger_.add(an_entry('c'));
  ASSERT_TRUE(added);
  LedgerEntry entry = added->entry();
  entry.reach = "podman:x";
  ASSERT_TRUE(added->update(entry));
  ASSERT_EQ(items().size(), 1u);
  EXPECT_TRUE(items().front().held);
  EXPECT_EQ(items().front().entry->reach, "podman:x");
  EXPECT_FALSE(ledger_.take(entry.id));
}

TEST_F(CtlLedger, TheScratchDirectoryGoesWithTheEntry) {
  auto added = ledger_.add(an_entry('d'));
  ASSERT_TRUE(added);
  const auto scratch = added->scratch();
  ASSERT_TRUE(scratch);
  EXPECT_EQ(fs::status(*scratch).permissions(), fs::perms::owner_all);
  harness::write_file(*scratch + "/x", "x");
  ASSERT_TRUE(added->remove());
  EXPECT_TRUE(fs::is_empty(ledger_.directory()));
}

TEST_F(CtlLedger, ArtifactsOnTheirWayGoWithTheEntryAndTheOthersStay) {
  LedgerEntry entry = an_entry('e');
  entry.into = scratch_.path("into");
  fs::create_directories(arriving_directory(entry));
  harness::write_file(arriving_directory(entry) + "/half", "x");
  harness::write_file(entry.into + "/whole", "x");
  auto added = ledger_.add(entry);
  ASSERT_TRUE(added);
  ASSERT_TRUE(added->remove());
  EXPECT_FALSE(fs::exists(arriving_directory(entry)));
  EXPECT_TRUE(fs::exists(entry.into + "/whole"));
}

TEST_F(CtlLedger, WhatCannotBeReadIsToldAndNeverTaken) {
  ASSERT_TRUE(ledger_.add(an_entry('f')));
  harness::write_file(file('f'), "{ not json");
  harness::write_file(file('1'), ledger_json(an_entry('2')));
  harness::write_file(file('3'), std::string(100 << 10, ' '));
  ASSERT_EQ(mkfifo(file('4').c_str(), 0600), 0);
  fs::create_symlink("/etc/passwd", file('5'));
  const auto found = items();
  EXPECT_EQ(found.size(), 5u);
  for (const LedgerItem& item : found) {
    EXPECT_FALSE(item.entry) << item.file;
    EXPECT_FALSE(ledger_.take(item.file.substr(0, 32))) << item.file;
  }
  EXPECT_TRUE(fs::exists(file('f')));
}

TEST_F(CtlLedger, UnfinishedFilesOfTheDeadAreRemovedAndThoseOfTheLivingStay) {
  ASSERT_TRUE(ledger_.add(an_entry('a')));
  harness::write_file(file('6', ".new"), "");
  harness::write_file(file('7', ".new"), "");
  harness::write_file(ledger_.directory() + "/other.new", "");
  const int held = open(file('7', ".new").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  ledger_.remove_unfinished();
  EXPECT_FALSE(fs::exists(file('6', ".new")));
  EXPECT_TRUE(fs::exists(file('7', ".new")));
  EXPECT_TRUE(fs::exists(ledger_.directory() + "/other.new"));
  EXPECT_TRUE(fs::exists(file('a')));
  close(held);
}

TEST_F(CtlLedger, ADirectoryThatCannotBeMadeIsAnError) {
  harness::write_file(scratch_.path("state"), "a file");
  const auto added = ledger_.add(an_entry('a'));
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message.find(scratch_.path("state")), std::string::npos);
  EXPECT_FALSE(Ledger("").add(an_entry('a')));
}

TEST(CtlLedgerPlace, IsWhereXdgSays) {
  const auto with = [](std::string state, std::string home) {
    return ledger_directory([=](std::string_view name) -> std::optional<std::string> {
      if (name == "XDG_STATE_HOME") return state;
      if (name == "HOME") return home;
      return std::nullopt;
    });
  };
  EXPECT_EQ(with("/s", "/h"), "/s/quietus/sessions");
  EXPECT_EQ(with("relative", "/h"), "/h/.local/state/quietus/sessions");
  EXPECT_EQ(with("", ""), "");
}

}  // namespace
}  // namespace quietus::cli
