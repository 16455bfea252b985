#include "supervisor/output_relay.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <set>

#include "harness/scratch.hpp"
#include "harness/tools.hpp"

namespace quietus {
namespace {

// Every byte tells its own place modulo 251, and there are newlines at prime distances.
std::string data_of(std::size_t size) {
  std::string data(size, '\0');
  for (std::size_t at = 0; at < size; ++at) {
    data[at] = at % 37 == 36 ? '\n' : static_cast<char>('0' + at % 251 % 70);
  }
  return data;
}

// What the file must hold.
std::string kept_of(const std::string& data, std::size_t limit) {
  if (data.size() <= limit) return data;
  const std::size_t head = limit / 2;
  const std::size_t tail = limit - head;
  std::string kept = data.substr(0, head);
  if (!kept.empty() && kept.back() != '\n') kept += '\n';
  kept += "[quietus: " + std::to_string(data.size() - limit) + " bytes cut]\n";
  return kept + data.substr(data.size() - tail);
}

class RelayTest : public testing::Test {
 protected:
  OutputRelay make(std::uint64_t limit, const char* path = nullptr) {
    auto file = sys::open(gate_, path == nullptr ? file_.c_str() : path,
                          O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    return OutputRelay::create(gate_, std::move(*file), limit).value();
  }

  void feed(OutputRelay& relay, std::string_view data, std::size_t chunk) {
    while (!data.empty()) {
      const auto written = ::write(relay.worker_end(), data.data(), std::min(chunk, data.size()));
      ASSERT_GT(written, 0);
      data.remove_prefix(static_cast<std::size_t>(written));
      while (relay.drain(gate_)) {
      }
    }
  }

  harness::Scratch scratch_;
  sys::Gate gate_;
  std::string file_ = scratch_.path("output");
};

TEST_F(RelayTest, KeepsHeadAndTailToTheByte) {
  for (const std::size_t limit : {1u, 2u, 3u, 10u, 64u, 77u, 4096u, 70001u}) {
    const std::size_t head = limit / 2;
    const std::size_t tail = limit - head;
    std::set<std::size_t> sizes = {0, 1, 2, 3};
    for (const std::size_t about :
         {head, tail, limit, limit + 1, limit + tail, limit + 2 * tail, 3 * limit + 5}) {
      for (const std::size_t near : {about - 1, about, about + 1}) {
        if (near < 1u << 20) sizes.insert(near);
      }
    }
    for (const std::size_t size : sizes) {
      for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, std::size_t{65536}}) {
        if (chunk == 1 && size > 300) continue;
        OutputRelay relay = make(limit);
        const std::string data = data_of(size);
        feed(relay, data, chunk);
        ASSERT_TRUE(relay.finish(gate_));
        ASSERT_EQ(harness::read_file(file_), kept_of(data, limit))
            << "limit " << limit << ", " << size << " bytes in chunks of " << chunk;
        EXPECT_EQ(relay.bytes_cut(), size > limit ? size - limit : 0);
      }
    }
  }
}

TEST_F(RelayTest, KeepsHeadAndTailOfARandomStream) {
  std::mt19937 random(20261129);
  for (int round = 0; round < 50; ++round) {
    const std::size_t limit = 1 + random() % (round % 2 == 0 ? 5000 : 200000);
    const std::string data = data_of(random() % (6 * limit));
    OutputRelay relay = make(limit);
    for (std::size_t at = 0; at < data.size();) {
      const std::size_t chunk = 1 + random() % 4000;
      feed(relay, std::string_view(data).substr(at, chunk), chunk);
      at += chunk;
    }
    ASSERT_TRUE(relay.finish(gate_));
    ASSERT_EQ(harness::read_file(file_), kept_of(data, limit)) << "limit " << limit;
  }
}

// A full pipe, whatever is kept of it: the true end comes last.
TEST_F(RelayTest, WhatIsStillInThePipeIsTakenAtTheEnd) {
  for (const std::size_t limit : {1u, 2u, 100u, 1024u, 200000u}) {
    OutputRelay relay = make(limit);
    const std::string data = data_of(fcntl(relay.worker_end(), F_GETPIPE_SZ));
    ASSERT_GE(data.size(), 50000u);
    ASSERT_EQ(::write(relay.worker_end(), data.data(), data.size()),
              static_cast<ssize_t>(data.size()));
    ASSERT_TRUE(relay.finish(gate_));
    EXPECT_EQ(harness::read_file(file_), kept_of(data, limit)) << "limit " << limit;
  }
}

// A survivor may hold the pipe: its end of file never comes.
TEST_F(RelayTest, NobodyWaitsForAPipeThatIsHeld) {
  OutputRelay relay = make(100);
  const int held = dup(relay.worker_end());
  relay.close_worker_end();
  ASSERT_EQ(::write(held, "last words\n", 11), 11);
  ASSERT_TRUE(relay.finish(gate_));
  EXPECT_EQ(harness::read_file(file_), "last words\n");
  ::close(held);
}

TEST_F(RelayTest, FinishingTwiceWritesTheEndOnce) {
  OutputRelay relay = make(10);
  const std::string data = data_of(1000);
  feed(relay, data, 100);
  ASSERT_TRUE(relay.finish(gate_));
  ASSERT_TRUE(relay.finish(gate_));
  EXPECT_EQ(harness::read_file(file_), kept_of(data, 10));
}

// One half is killed, the other one finishes: what was counted is in memory that they share.
TEST_F(RelayTest, TheOtherHalfFinishes) {
  OutputRelay relay = make(64);
  const std::string data = data_of(5000);
  const pid_t half = fork();
  if (half == 0) {
    std::string_view left = data;
    while (!left.empty()) {
      const auto written = ::write(relay.worker_end(), left.data(), std::min(left.size(), 500ul));
      left.remove_prefix(static_cast<std::size_t>(written));
      while (relay.drain(gate_)) {
      }
    }
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(half, &status, 0), half);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(relay.finish(gate_));
  EXPECT_EQ(harness::read_file(file_), kept_of(data, 64));
}

TEST_F(RelayTest, AFullDiskCostsBytesAndIsTold) {
  OutputRelay relay = make(100, "/dev/full");
  feed(relay, data_of(100000), 4096);
  const auto finished = relay.finish(gate_);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ENOSPC);
}

}  // namespace
}  // namespace quietus
