#include "session/directory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace quietus {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// A directory of its own, gone at the end.
class Scratch {
 public:
  Scratch() {
    if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path(const char* name) const { return directory_ + "/" + name; }

 private:
  std::string directory_ = (fs::temp_directory_path() / "scene-XXXXXX").string();
};

void write_file(const std::string& at, const std::string& text) { std::ofstream(at) << text; }

std::string read_file(const std::string& at) {
  std::ifstream in(at);
  return {std::istreambuf_iterator<char>(in), {}};
}

class SessionDirectoryTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(path_); }
  SessionDirectory open_it() {
    auto opened = SessionDirectory::open(gate_, path_, kSessionFiles);
    if (!opened) throw std::runtime_error("cannot open");
    return std::move(*opened);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

  Scratch scratch_;
  sys::Gate gate_;
  const std::string path_ = scratch_.path("s");
};

TEST_F(SessionDirectoryTest, IsNeverOpenedThroughALink) {
  fs::create_directory_symlink(path_, scratch_.path("link"));
  fs::create_symlink("nowhere", scratch_.path("dangling"));
  write_file(scratch_.path("file"), "");
  for (const char* name : {"link", "dangling", "file", "absent"}) {
    EXPECT_FALSE(SessionDirectory::open(gate_, scratch_.path(name), kSessionFiles)) << name;
  }
}

TEST_F(SessionDirectoryTest, ItsIdIsDeviceAndInode) {
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(open_it().id(), std::to_string(info.st_dev) + "." + std::to_string(info.st_ino));
}

TEST_F(SessionDirectoryTest, NoticesThatItsPathNamesAnother) {
  const SessionDirectory directory = open_it();
  EXPECT_TRUE(directory.in_place(gate_));
  fs::rename(path_, scratch_.path("moved"));
  EXPECT_FALSE(directory.in_place(gate_));
  fs::create_directory_symlink(scratch_.path("moved"), path_);
  EXPECT_FALSE(directory.in_place(gate_)) << "a link to it is not it";
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_FALSE(directory.in_place(gate_));
}

TEST_F(SessionDirectoryTest, TellsTheClaimsApart) {
  const SessionDirectory directory = open_it();
  EXPECT_EQ(directory.claim(gate_), Claim::none);
  for (const auto& [target, claim] :
       {std::pair("launch", Claim::launch), std::pair("stop", Claim::stop),
        std::pair("launch/", Claim::foreign), std::pair("stopped", Claim::foreign),
        std::pair("/", Claim::foreign)}) {
    fs::create_symlink(target, file("launch.claim"));
    EXPECT_EQ(directory.claim(gate_), claim) << target;
    fs::remove(file("launch.claim"));
  }
  write_file(file("launch.claim"), "launch");
  EXPECT_EQ(directory.claim(gate_), Claim::foreign);
}

TEST_F(SessionDirectoryTest, AReceiptIsARegularFileOfSensibleSize) {
  const SessionDirectory directory = open_it();
  const std::string at = file("cleanup.json");
  EXPECT_FALSE(directory.receipt(gate_));
  write_file(at, "{}");
  EXPECT_EQ(directory.receipt(gate_), "{}");
  write_file(at, "");
  EXPECT_EQ(directory.receipt(gate_), "");
  write_file(at, std::string(100000, 'x'));
  EXPECT_EQ(directory.receipt(gate_)->size(), 100000u);
  write_file(at, std::string(2 << 20, 'x'));
  EXPECT_FALSE(directory.receipt(gate_));
  fs::remove(at);
  ASSERT_EQ(mkfifo(at.c_str(), 0600), 0);
  EXPECT_FALSE(directory.receipt(gate_)) << "and it does not wait for a writer";
  fs::remove(at);
  write_file(scratch_.path("elsewhere"), "{}");
  fs::create_symlink(scratch_.path("elsewhere"), at);
  EXPECT_FALSE(directory.receipt(gate_));
  fs::remove(at);
  fs::create_directory(at);
  EXPECT_FALSE(directory.receipt(gate_));
}

TEST_F(SessionDirectoryTest, ARequestMayBeThereAlreadyInAnyForm) {
  const SessionDirectory directory = open_it();
  EXPECT_TRUE(directory.request(gate_, "a.request"));
  EXPECT_TRUE(directory.request(gate_, "a.request"));
  EXPECT_EQ(read_file(file("a.request")), "");
  fs::create_directory(file("b.request"));
  EXPECT_TRUE(directory.request(gate_, "b.request"));
  fs::create_symlink(scratch_.path("made"), file("c.request"));
  EXPECT_TRUE(directory.request(gate_, "c.request"));
  EXPECT_FALSE(fs::exists(scratch_.path("made"))) << "written through a link";
}

TEST_F(SessionDirectoryTest, WaitsForItsLockWithABound) {
  const SessionDirectory directory = open_it();
  const int other = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_SH), 0);
  EXPECT_TRUE(directory.lock(gate_, sys::Lock::shared, 0s)) << "shared beside shared";
  EXPECT_TRUE(sys::unlock(gate_, directory.fd()));
  const auto refused = directory.lock(gate_, sys::Lock::exclusive, 0s);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(sys::would_block(refused.error()));
  const auto begin = std::chrono::steady_clock::now();
  const auto late = directory.lock(gate_, sys::Lock::exclusive, 100ms);
  ASSERT_FALSE(late);
  EXPECT_TRUE(sys::would_block(late.error()));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms);
  // Nobody whom it sent to wait may still hold or get it.
  ASSERT_EQ(flock(other, LOCK_UN), 0);
  EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
  close(other);
  EXPECT_TRUE(directory.lock(gate_, sys::Lock::exclusive, 0s));
}

TEST_F(SessionDirectoryTest, GetsTheLockWhenItsHolderEnds) {
  const SessionDirectory directory = open_it();
  const int other = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_SH), 0);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  // Its open file is shared with us, as a supervisor's is with its guardian: both have to go.
  const pid_t holder = fork();
  if (holder == 0) {
    char byte;
    close(ends[1]);
    _exit(static_cast<int>(read(ends[0], &byte, 1)));
  }
  close(other);
  EXPECT_FALSE(directory.lock(gate_, sys::Lock::exclusive, 20ms));
  close(ends[1]);
  EXPECT_TRUE(directory.lock(gate_, sys::Lock::exclusive, 30s));
  close(ends[0]);
  (void)sys::collect(gate_, holder);
}

}  // namespace
}  // namespace quietus
