#include "supervisor/watched_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>

#include "harness/scratch.hpp"
#include "harness/tools.hpp"
#include "supervisor/options.hpp"

namespace quietus {
namespace {

class WatchedFilesTest : public testing::Test {
 protected:
  [[nodiscard]] bool stop_is_there() const {
    return files_.present(gate_, Watched::stop_file).value();
  }
  // Whether inotify speaks up in time.
  [[nodiscard]] bool woken() const {
    pollfd fd{.fd = files_.fd(), .events = POLLIN, .revents = 0};
    return poll(&fd, 1, 5000) == 1;
  }
  [[nodiscard]] bool silent() const {
    pollfd fd{.fd = files_.fd(), .events = POLLIN, .revents = 0};
    return poll(&fd, 1, 0) == 0;
  }
  void make_directory(const std::string& path) const { ASSERT_EQ(mkdir(path.c_str(), 0700), 0); }

  harness::Scratch scratch_;
  mutable sys::Gate gate_;
  WatchedFiles files_{kWorkingDirectory, ""};
  std::string stop_ = scratch_.path("stop");
};

TEST_F(WatchedFilesTest, AnythingAtThePathCounts) {
  files_.add(Watched::stop_file, stop_);
  const std::pair<const char*, std::function<void()>> kinds[] = {
      {"a file", [&] { harness::write_file(stop_, ""); }},
      {"a directory", [&] { make_directory(stop_); }},
      {"a FIFO", [&] { ASSERT_EQ(mkfifo(stop_.c_str(), 0600), 0); }},
      {"a link", [&] { ASSERT_EQ(symlink("/", stop_.c_str()), 0); }},
      {"a dangling link", [&] { ASSERT_EQ(symlink("/no/such", stop_.c_str()), 0); }},
      {"a link to itself", [&] { ASSERT_EQ(symlink(stop_.c_str(), stop_.c_str()), 0); }},
      {"a socket",
       [&] {
         const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
         sockaddr_un address{};
         address.sun_family = AF_UNIX;
         std::snprintf(address.sun_path, sizeof address.sun_path, "%s", stop_.c_str());
         ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
         close(fd);
       }},
  };
  for (const auto& [what, make] : kinds) {
    EXPECT_FALSE(stop_is_there()) << what;
    make();
    EXPECT_TRUE(stop_is_there()) << what;
    ASSERT_EQ(std::remove(stop_.c_str()), 0) << what;
  }
}

TEST_F(WatchedFilesTest, EachFileIsAskedForByItself) {
  files_.add(Watched::stop_file, stop_);
  files_.add(Watched::expire_file, scratch_.path("expire"));
  harness::write_file(scratch_.path("expire"), "");
  EXPECT_FALSE(stop_is_there());
  EXPECT_TRUE(files_.present(gate_, Watched::expire_file).value());
  EXPECT_FALSE(files_.present(gate_, Watched::kill_file).value());  // never asked for
}

TEST_F(WatchedFilesTest, AnEmptyPathIsNotWatched) {
  files_.add(Watched::stop_file, "");
  EXPECT_TRUE(files_.empty());
  files_.arm(gate_);
  EXPECT_EQ(files_.fd(), -1);
  EXPECT_FALSE(stop_is_there());
}

TEST_F(WatchedFilesTest, APathThatCannotBeIsNotThere) {
  files_.add(Watched::stop_file, "/dev/null/stop");
  EXPECT_FALSE(stop_is_there());
}

TEST_F(WatchedFilesTest, WhatCannotBeLookedUpIsAnError) {
  class Denying final : public sys::Gate {
   public:
    long perform(const sys::Request& request) noexcept override {
      return request.number == SYS_newfstatat ? -EACCES : Gate::perform(request);
    }
  };
  files_.add(Watched::stop_file, stop_);
  Denying gate;
  const auto present = files_.present(gate, Watched::stop_file);
  ASSERT_FALSE(present);
  EXPECT_EQ(present.error().code, EACCES);
}

TEST_F(WatchedFilesTest, ANewFileWakesUs) {
  files_.add(Watched::stop_file, stop_);
  files_.arm(gate_);
  ASSERT_GE(files_.fd(), 0);
  EXPECT_TRUE(silent());
  harness::write_file(stop_, "");
  EXPECT_TRUE(woken());
  files_.drain(gate_);
  EXPECT_TRUE(silent());
}

TEST_F(WatchedFilesTest, AFileThatIsMovedInWakesUs) {
  make_directory(scratch_.path("elsewhere"));
  harness::write_file(scratch_.path("elsewhere/x"), "");
  files_.add(Watched::stop_file, stop_);
  files_.arm(gate_);
  ASSERT_EQ(rename(scratch_.path("elsewhere/x").c_str(), stop_.c_str()), 0);
  EXPECT_TRUE(woken());
  EXPECT_TRUE(stop_is_there());
}

// The regular look arms again: a directory that came later, or took the place of the first.
TEST_F(WatchedFilesTest, ADirectoryThatComesLaterIsWatchedFromTheNextLookOn) {
  const std::string path = scratch_.path("later/stop");
  files_.add(Watched::stop_file, path);
  files_.arm(gate_);
  make_directory(scratch_.path("later"));
  files_.arm(gate_);
  harness::write_file(path, "");
  EXPECT_TRUE(woken());
  EXPECT_TRUE(stop_is_there());
}

TEST_F(WatchedFilesTest, ADirectoryThatWasReplacedIsWatchedFromTheNextLookOn) {
  const std::string directory = scratch_.path("d");
  make_directory(directory);
  files_.add(Watched::stop_file, directory + "/stop");
  files_.arm(gate_);
  ASSERT_EQ(rename(directory.c_str(), scratch_.path("old").c_str()), 0);
  make_directory(directory);
  EXPECT_TRUE(woken());  // the first one moved
  files_.arm(gate_);
  files_.drain(gate_);
  harness::write_file(directory + "/stop", "");
  EXPECT_TRUE(woken());
  EXPECT_TRUE(stop_is_there());
}

TEST_F(WatchedFilesTest, WithoutInotifyTheLookRemains) {
  class Denying final : public sys::Gate {
   public:
    long perform(const sys::Request& request) noexcept override {
      return request.number == SYS_inotify_init1 ? -EMFILE : Gate::perform(request);
    }
  };
  Denying gate;
  files_.add(Watched::stop_file, stop_);
  files_.arm(gate);
  EXPECT_EQ(files_.fd(), -1);
  harness::write_file(stop_, "");
  EXPECT_TRUE(stop_is_there());
}

// In a session the names are relative to a directory that is held open: whatever happens to its
// path, it is that one that is looked into.
TEST_F(WatchedFilesTest, RelativeNamesStayInTheDirectoryThatIsHeld) {
  const std::string directory = scratch_.path("session");
  make_directory(directory);
  const int held = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  WatchedFiles files(held, directory);
  files.add(Watched::kill_file, "kill.request");
  files.arm(gate_);
  harness::write_file(directory + "/kill.request", "");
  pollfd fd{.fd = files.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&fd, 1, 5000), 1);
  ASSERT_EQ(rename(directory.c_str(), scratch_.path("moved").c_str()), 0);
  make_directory(directory);
  EXPECT_TRUE(files.present(gate_, Watched::kill_file).value());
  close(held);
}

TEST_F(WatchedFilesTest, AFloodOfFilesDoesNotHoldUsUp) {
  files_.add(Watched::stop_file, stop_);
  files_.arm(gate_);
  for (int i = 0; i < 3000; ++i) {
    harness::write_file(scratch_.path("f" + std::to_string(i)), "");
  }
  files_.drain(gate_);
  harness::write_file(stop_, "");
  EXPECT_TRUE(woken());
  EXPECT_TRUE(stop_is_there());
}

}  // namespace
}  // namespace quietus
