// Records on real directories, in which somebody may have planted something.
#include "supervisor/record.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "contract/receipt.hpp"
#include "harness/scratch.hpp"
#include "harness/tools.hpp"

namespace quietus {
namespace {

constexpr const char* kToken = "0123456789abcdef";

// The calls that put a record in place, in order, with what they are about.
class Noting final : public sys::Gate {
 public:
  long perform(const sys::Request& request) noexcept override {
    const auto text = [&](int at) { return reinterpret_cast<const char*>(request.args[at]); };
    if (request.number == SYS_fsync) calls.push_back("sync");
    if (request.number == SYS_renameat) calls.push_back(std::string("rename ") + base(text(3)));
    if (request.number == refused) return -code;
    return Gate::perform(request);
  }
  std::vector<std::string> calls;
  long refused = -1;
  int code = EIO;

 private:
  static std::string base(const std::string& path) { return path.substr(path.rfind('/') + 1); }
};

class RecordTest : public testing::Test {
 protected:
  RecordTest() {
    options_.receipt = path("receipt.json");
    outcome_.ending = Ending::exited(0);
    outcome_.cause = Cause::exited;
    outcome_.proof = Proof::no_children_left;
    outcome_.policy = "tree";
  }

  [[nodiscard]] std::string path(const char* name) const { return scratch_.path(name); }
  Conclusion conclude_now(Herald* herald = nullptr) {
    return conclude(gate_, options_, outcome_, kToken, herald);
  }
  [[nodiscard]] std::string receipt() const { return harness::read_file(options_.receipt); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.directory())) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }
  void expect_success() {
    const Conclusion conclusion = conclude_now();
    EXPECT_EQ(conclusion.exit_code, 0);
    EXPECT_EQ(conclusion.message, "");
    EXPECT_EQ(receipt().size(), 80u);
  }
  void expect_failure(int code) {
    const Conclusion conclusion = conclude_now();
    EXPECT_EQ(conclusion.exit_code, 125);
    EXPECT_NE(conclusion.message.find("cannot write the receipt: [Errno " + std::to_string(code)),
              std::string::npos)
        << conclusion.message;
    // What would have stood there is told.
    EXPECT_NE(conclusion.message.find("exited with 0"), std::string::npos) << conclusion.message;
  }

  harness::Scratch scratch_;
  Noting gate_;
  Options options_;
  Outcome outcome_;
};

TEST_F(RecordTest, StandsAtItsPathAndNothingBesideIt) {
  expect_success();
  EXPECT_EQ(names(), std::vector<std::string>{"receipt.json"});
}

TEST_F(RecordTest, ModeComesFromTheUmaskAndTheOwnerCanAlwaysRead) {
  const std::pair<mode_t, mode_t> rows[] = {
      {0000, 0666}, {0022, 0644}, {0077, 0600}, {0277, 0400},
      {0777, 0400}, {0477, 0600}, {0555, 0622},
  };
  for (const auto& [mask, mode] : rows) {
    const mode_t before = umask(mask);
    (void)conclude_now();
    umask(before);
    struct stat status {};
    ASSERT_EQ(stat(options_.receipt.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode) << std::oct << mask;
    ASSERT_EQ(unlink(options_.receipt.c_str()), 0);
  }
}

TEST_F(RecordTest, ReplacesWhateverStoodThere) {
  const std::string victim = path("victim");
  harness::write_file(victim, "untouched");
  const auto rounds = {
      +[](const std::string& at, const std::string&) { harness::write_file(at, "forged"); },
      +[](const std::string& at, const std::string&) { ASSERT_EQ(mkfifo(at.c_str(), 0600), 0); },
      +[](const std::string& at, const std::string& to) {
        ASSERT_EQ(symlink(to.c_str(), at.c_str()), 0);
      },
      +[](const std::string& at, const std::string&) {
        ASSERT_EQ(symlink("/no/such/place", at.c_str()), 0);
      },
      +[](const std::string& at, const std::string& to) {
        ASSERT_EQ(link(to.c_str(), at.c_str()), 0);
      },
  };
  for (const auto plant : rounds) {
    plant(options_.receipt, victim);
    expect_success();
    struct stat status {};
    ASSERT_EQ(lstat(options_.receipt.c_str(), &status), 0);
    EXPECT_TRUE(S_ISREG(status.st_mode));
    EXPECT_EQ(harness::read_file(victim), "untouched");
    ASSERT_EQ(unlink(options_.receipt.c_str()), 0);
  }
}

// Whoever guessed the temporary name: nothing is opened, followed or removed.
TEST_F(RecordTest, APlantedTemporaryIsNeitherFollowedNorTouched) {
  const std::string temporary = temporary_path(options_.receipt, kToken);
  const std::string victim = path("victim");
  harness::write_file(victim, "untouched");
  const auto rounds = {
      +[](const std::string& at, const std::string& to) {
        ASSERT_EQ(symlink(to.c_str(), at.c_str()), 0);
      },
      +[](const std::string& at, const std::string&) { ASSERT_EQ(mkfifo(at.c_str(), 0600), 0); },
      +[](const std::string& at, const std::string&) { harness::write_file(at, "mine"); },
      +[](const std::string& at, const std::string&) { ASSERT_EQ(mkdir(at.c_str(), 0700), 0); },
  };
  for (const auto plant : rounds) {
    plant(temporary, victim);
    expect_failure(EEXIST);
    EXPECT_TRUE(harness::exists(temporary));
    EXPECT_FALSE(harness::exists(options_.receipt));
    EXPECT_EQ(harness::read_file(victim), "untouched");
    ASSERT_EQ(std::remove(temporary.c_str()), 0);
  }
}

TEST_F(RecordTest, ADirectoryThatIsNotThereIsTold) {
  options_.receipt = path("none/receipt.json");
  expect_failure(ENOENT);
  EXPECT_TRUE(names().empty());
}

TEST_F(RecordTest, ADirectoryAtThePathIsTold) {
  ASSERT_EQ(mkdir(options_.receipt.c_str(), 0700), 0);
  expect_failure(EISDIR);
  EXPECT_EQ(names(), std::vector<std::string>{"receipt.json"});  // no temporary is left
}

TEST_F(RecordTest, AFailureAtAnyCallLeavesNothingBehind) {
  for (const long call : {SYS_fstat, SYS_pwrite64, SYS_renameat}) {
    gate_.refused = call;
    expect_failure(EIO);
    EXPECT_TRUE(names().empty()) << call;
  }
}

// A disk that is full after some bytes.
TEST_F(RecordTest, AFullDiskLeavesNothingBehind) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{40, 40};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    const Conclusion conclusion = conclude_now();
    _exit(conclusion.exit_code == 125 && !conclusion.message.empty() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(names().empty());
}

TEST_F(RecordTest, TheBareFormAnswersWithOne) {
  options_.form = Form::bare;
  options_.receipt = path("none/receipt.json");
  EXPECT_EQ(conclude_now().exit_code, 1);
}

TEST_F(RecordTest, TheReportComesFirst) {
  options_.report = path("report.json");
  expect_success();
  EXPECT_EQ(gate_.calls, (std::vector<std::string>{"rename report.json", "rename receipt.json"}));
  EXPECT_EQ(names(), (std::vector<std::string>{"receipt.json", "report.json"}));
}

TEST_F(RecordTest, AReportThatCannotBeWrittenIsAnErrorInTheReceipt) {
  options_.report = path("none/report.json");
  const Conclusion conclusion = conclude_now();
  EXPECT_EQ(conclusion.exit_code, 125);
  EXPECT_NE(receipt().find(R"("error": "report: [Errno 2] No such file or directory)"),
            std::string::npos)
      << receipt();
}

TEST_F(RecordTest, SyncComesBeforeTheRenameAndTheDirectoryAfter) {
  options_.sync = true;
  options_.report = path("report.json");
  expect_success();
  EXPECT_EQ(gate_.calls, (std::vector<std::string>{"sync", "rename report.json", "sync", "sync",
                                                   "rename receipt.json", "sync"}));
}

class Watching final : public Herald {
 public:
  explicit Watching(std::string path) : path_(std::move(path)) {}
  bool before_rename(const Announcement& announcement, Outcome& outcome) override {
    announced = announcement;
    stood_there = harness::exists(path_);
    if (news.empty()) return false;
    outcome.trouble(news);
    return true;
  }
  Announcement announced;
  bool stood_there = true;
  std::string news;

 private:
  std::string path_;
};

TEST_F(RecordTest, TheHeraldKnowsTheFileBeforeItIsInPlace) {
  outcome_.ending = Ending::exited(7);
  Watching herald(options_.receipt);
  const Conclusion conclusion = conclude_now(&herald);
  EXPECT_FALSE(herald.stood_there);
  EXPECT_EQ(herald.announced.exit_code, 7);
  EXPECT_EQ(conclusion.exit_code, 7);
  struct stat status {};
  ASSERT_EQ(stat(options_.receipt.c_str(), &status), 0);
  EXPECT_EQ(herald.announced.inode, status.st_ino);
  EXPECT_EQ(herald.announced.device, status.st_dev);
}

TEST_F(RecordTest, NewsOfTheLastMomentStandInTheReceipt) {
  Watching herald(options_.receipt);
  herald.news = "the guardian process was killed";
  const Conclusion conclusion = conclude_now(&herald);
  EXPECT_EQ(conclusion.exit_code, 125);
  EXPECT_EQ(receipt(), receipt_json(receipt_of(outcome_)));
  EXPECT_NE(receipt().find("the guardian process was killed"), std::string::npos);
}

// A shorter text over a longer one: the reserved file of a session is larger than any receipt.
TEST_F(RecordTest, AReservedFileIsCutToTheReceipt) {
  options_.control.reserved = path("reserved");
  harness::write_file(options_.control.reserved, std::string(4096, 'x'));
  options_.control.reserved_fd = open(options_.control.reserved.c_str(), O_RDWR | O_CLOEXEC);
  expect_success();
  EXPECT_EQ(names(), std::vector<std::string>{"receipt.json"});
  close(options_.control.reserved_fd);
}

TEST_F(RecordTest, AReservedFileThatWasReplacedIsNotUsed) {
  options_.control.reserved = path("reserved");
  harness::write_file(options_.control.reserved, "");
  options_.control.reserved_fd = open(options_.control.reserved.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(unlink(options_.control.reserved.c_str()), 0);
  harness::write_file(options_.control.reserved, "somebody else's");
  expect_success();
  EXPECT_EQ(harness::read_file(options_.control.reserved), "somebody else's");
  close(options_.control.reserved_fd);
}

TEST_F(RecordTest, WhatIsSaidDependsOnTheVerbosity) {
  outcome_.trouble("something");
  EXPECT_EQ(conclude_now().message, "quietus: something\n");
  options_.verbosity = -1;
  EXPECT_EQ(conclude_now().message, "");
  options_.verbosity = 1;
  EXPECT_EQ(conclude_now().message,
            "quietus: something\n"
            "quietus: the command exited with 0; cause exited; cleanup confirmed: "
            "no-children-left by none\n");
  // The bare form: whoever reads the receipt finds it there.
  options_.form = Form::bare;
  options_.verbosity = 0;
  EXPECT_EQ(conclude_now().message, "");
}

TEST(Token, IsSixteenRandomDigits) {
  sys::Gate gate;
  const std::string token = make_token(gate).value();
  EXPECT_EQ(token.size(), 16u);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, make_token(gate).value());
}

TEST(Paths, OfRecordsStayTheSameFile) {
  EXPECT_EQ(temporary_path("/a/b/c.json", kToken), "/a/b/.quietus-0123456789abcdef");
  EXPECT_EQ(temporary_path("c.json", kToken), "./.quietus-0123456789abcdef");
  // As long as the name may be: the temporary has a name of its own length.
  EXPECT_EQ(temporary_path(std::string(255, 'x'), kToken), "./.quietus-0123456789abcdef");
  sys::Gate gate;
  EXPECT_EQ(absolute_path(gate, "/a/b"), "/a/b");
  EXPECT_EQ(absolute_path(gate, ""), "");
  EXPECT_EQ(absolute_path(gate, "b"), std::filesystem::current_path().string() + "/b");
  class Denying final : public sys::Gate {
   public:
    long perform(const sys::Request&) noexcept override { return -ENOENT; }
  };
  Denying lost;
  EXPECT_EQ(absolute_path(lost, "b"), "b");
}

}  // namespace
}  // namespace quietus
