// Many sessions at once from one controller, and one after the other: none is lost, nothing is
// left. QUIETUS_SESSIONS says how many at once (default 64), QUIETUS_SESSION_SECONDS how long each
// runs.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "client/scene.hpp"
#include "client/src/task.hpp"

namespace client_tests {
namespace {

class Many : public Scene {
 protected:
  void SetUp() override {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    auto made = transport_from_name("local");
    sandbox_ = sandbox_over(std::move(*made));
    payload_ = payload_file(harness::quietus_binary());
  }
  void TearDown() override {
    sandbox_.reset();
    payload_.reset();
    Scene::TearDown();
  }

  static SessionCommand sleeper(const std::string& seconds, int code) {
    return {.argv = {"sh", "-c", "sleep " + seconds + "; exit " + std::to_string(code)}};
  }

  // A whole session; empty when all was well.
  asio::awaitable<Expected<std::string>> whole(int number, std::string seconds) {
    SessionOptions options{.directory = path("s" + std::to_string(number)), .payload = payload_};
    Session session(executor(), sandbox_, options);
    const SessionCommand command = sleeper(seconds, number % 100);
    Stage stage = [command]() -> asio::awaitable<Expected<SessionCommand>> { co_return command; };
    Collect collect = []() -> asio::awaitable<Expected<Artifacts>> { co_return Artifacts{}; };
    const auto artifacts =
        co_await session.execute(std::move(stage), std::move(collect), 300s, 60s);
    const auto closed = co_await session.close(60s);
    if (!artifacts) co_return artifacts.error().text();
    if (!closed) co_return closed.error().text();
    if (!session.cleanup()) co_return std::string("no receipt");
    if (session.cleanup()->return_code != number % 100) co_return std::string("another's receipt");
    co_return std::string();
  }

  std::shared_ptr<Sandbox> sandbox_;
  std::shared_ptr<PayloadSource> payload_;
};

std::string from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

TEST_F(Many, SessionsAtOnceAreAllConfirmedAndLeaveNothing) {
  const int sessions = std::stoi(from_environment("QUIETUS_SESSIONS", "64"));
  const std::string seconds = from_environment("QUIETUS_SESSION_SECONDS", "0.2");
  ASSERT_EQ(*run(whole(sessions, "0")), "");  // what a loop opens with its first process
  const std::size_t before = open_descriptors();
  std::size_t most = resident_bytes();
  const auto begin = Clock::now();
  std::vector<std::shared_ptr<Pending<Expected<std::string>>>> all;
  for (int number = 0; number < sessions; ++number) all.push_back(start(whole(number, seconds)));
  ASSERT_TRUE(until(
      [&] {
        most = std::max(most, resident_bytes());
        return std::ranges::all_of(all, [](const auto& one) { return one->done(); });
      },
      280));
  for (const auto& one : all) {
    ASSERT_FALSE(one->threw());
    EXPECT_EQ(*one->result(), "");
  }
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  std::cout << sessions << " sessions of " << seconds << " s: " << took << " s, at most "
            << (most >> 20) << " MiB\n";
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_LT(most, std::size_t{200} << 20);
}

TEST_F(Many, SessionsInSequenceDoNotGrow) {
  const int sessions = std::stoi(from_environment("QUIETUS_SEQUENCE", "60"));
  for (int number = 0; number < 10; ++number) ASSERT_EQ(*run(whole(number, "0")), "");
  const std::size_t descriptors = open_descriptors();
  const std::size_t memory = resident_bytes();
  for (int number = 0; number < sessions; ++number) ASSERT_EQ(*run(whole(number, "0")), "");
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LT(resident_bytes(), memory + (std::size_t{4} << 20));
}

}  // namespace
}  // namespace client_tests
