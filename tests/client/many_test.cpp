// Many sessions at once from one controller, and one after the other: none is lost, nothing is
// left. QUIETUS_SESSIONS says how many at once, QUIETUS_SESSION_SECONDS how long each runs,
// QUIETUS_SEQUENCE how many after each other. The promise is 1000 of 2 s, and 10000.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>
#include <cstdlib>
#include <future>
#include <iostream>

#include "client/scene.hpp"
#include "client/src/process.hpp"
#include "client/src/task.hpp"

namespace client_tests {
namespace {

std::string from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

const int kAtOnce = std::stoi(from_environment("QUIETUS_SESSIONS", "64"));
const std::string kSeconds = from_environment("QUIETUS_SESSION_SECONDS", "2");
const int kInSequence = std::stoi(from_environment("QUIETUS_SEQUENCE", "60"));
constexpr double kMostRatio = 2;
constexpr std::size_t kMiB = std::size_t{1} << 20;

class Many : public Scene {
 protected:
  using Work = std::function<asio::awaitable<Expected<std::string>>(int)>;

  Many() : Scene(300 + kAtOnce * 0.5 + kInSequence * 0.5) {}

  void SetUp() override {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    machine_ = Machine(executor());
  }
  void TearDown() override {
    machine_ = {};
    Scene::TearDown();
  }

  // What sessions on one executor may share.
  struct Machine {
    Machine() = default;
    explicit Machine(asio::any_io_executor on)
        : executor(std::move(on)),
          sandbox(sandbox_over(std::move(*transport_from_name("local")))),
          payload(payload_file(harness::quietus_binary())) {}
    asio::any_io_executor executor;
    std::shared_ptr<Sandbox> sandbox;
    std::shared_ptr<PayloadSource> payload;
  };

  static int code(int number) { return number % 100; }
  static Words sleeper(int number, const std::string& seconds) {
    return {"sh", "-c", "sleep " + seconds + "; exit " + std::to_string(code(number))};
  }

  std::unique_ptr<Session> session(const Machine& on, int number) {
    SessionOptions options{.directory = path("s" + std::to_string(number)), .payload = on.payload};
    return std::make_unique<Session>(on.executor, on.sandbox, options);
  }
  static asio::awaitable<Expected<Artifacts>> execute(Session& session, Words argv) {
    const SessionCommand command{.argv = std::move(argv)};
    Stage stage = [command]() -> asio::awaitable<Expected<SessionCommand>> { co_return command; };
    Collect collect = []() -> asio::awaitable<Expected<Artifacts>> { co_return Artifacts{}; };
    co_return co_await session.execute(std::move(stage), std::move(collect), 300s, 60s);
  }

  // A whole session; empty when all was well.
  asio::awaitable<Expected<std::string>> whole(Machine on, int number, std::string seconds) {
    const auto one = session(on, number);
    const auto artifacts = co_await execute(*one, sleeper(number, seconds));
    const auto closed = co_await one->close(60s);
    if (!artifacts) co_return artifacts.error().text();
    if (!closed) co_return closed.error().text();
    if (!one->cleanup()) co_return std::string("no receipt");
    if (one->cleanup()->return_code != code(number)) co_return std::string("another's receipt");
    co_return std::string();
  }
  asio::awaitable<Expected<std::string>> whole(int number, std::string seconds) {
    return whole(machine_, number, std::move(seconds));
  }

  // One that is closed while its command runs.
  asio::awaitable<Expected<std::string>> interrupted(Machine on, int number) {
    const auto one = session(on, number);
    const auto executing =
        Task<Expected<Artifacts>>::start(on.executor, execute(*one, sleeper(number, "1000")));
    Event pause(on.executor);
    (void)co_await pause.wait(Clock::now() + 300ms);
    const auto closed = co_await one->close(60s);
    (void)co_await executing->wait();
    if (!closed) co_return closed.error().text();
    if (!one->launch_started()) co_return std::string();  // that early
    if (!one->cleanup()) co_return std::string("no receipt");
    if (one->cleanup()->return_code >= 0) co_return std::string("it ended by itself");
    co_return std::string();
  }

  asio::awaitable<Expected<std::string>> one_of_two(const Machine& on, int number) {
    return number % 2 == 0 ? whole(on, number, "0.1") : interrupted(on, number);
  }

  // The same command under the supervisor alone.
  asio::awaitable<Expected<std::string>> plain(int number, std::string seconds) {
    ProcessRequest request;
    request.command.argv = {harness::quietus_binary(), "run", "--timeout", "300", "--"};
    for (std::string& word : sleeper(number, seconds)) {
      request.command.argv.push_back(std::move(word));
    }
    const ProcessEnd end = co_await run_process(std::move(request));
    if (end.error) co_return end.error->text();
    if (end.status->code != code(number)) co_return "exit " + std::to_string(end.status->code);
    co_return std::string();
  }

  // Starts as many as are asked for, and gives the seconds until all have ended well.
  double at_once(const Work& work) {
    const auto begin = Clock::now();
    std::vector<std::shared_ptr<Pending<Expected<std::string>>>> all;
    for (int number = 0; number < kAtOnce; ++number) all.push_back(start(work(number)));
    std::size_t over = 0;
    auto next_look = begin;
    EXPECT_TRUE(until(
        [&] {
          if (Clock::now() >= next_look) {  // not at each event: that would be part of the cost
            most_ = std::max(most_, memory_in_use());
            next_look = Clock::now() + 10ms;
          }
          while (over < all.size() && all[over]->done()) ++over;
          return over == all.size();
        },
        280));
    const std::chrono::duration<double> took = Clock::now() - begin;
    for (const auto& one : all) {
      if (!one->done() || one->threw()) {
        ADD_FAILURE() << "one did not end, or threw";
      } else {
        EXPECT_EQ(*one->result(), "");
      }
    }
    return took.count();
  }

  std::size_t most_ = 0;
  Machine machine_;
};

TEST_F(Many, SessionsAtOnceAreConfirmedInTwiceTheTimeOfTheirCommands) {
  ASSERT_EQ(*run(whole(kAtOnce, "0")), "");  // what a loop opens with its first process
  const std::size_t before = open_descriptors();
  // What else the machine has to do can hit one half of a pair: three in a row are no chance.
  double ratio = kMostRatio;
  for (int attempt = 0; attempt < 3 && ratio >= kMostRatio; ++attempt) {
    const double alone = at_once([&](int number) { return plain(number, kSeconds); });
    most_ = 0;
    const double took = at_once([&](int number) { return whole(number, kSeconds); });
    ratio = took / alone;
    std::cout << kAtOnce << " commands of " << kSeconds << " s: " << took << " s in sessions, "
              << alone << " s under quietus run, ratio " << ratio << ", at most " << (most_ >> 20)
              << " MiB\n";
    if (kSanitized) break;  // it slows the controller, and not the commands
  }
  if (!kSanitized) {
    EXPECT_LT(ratio, kMostRatio);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_LT(most_, 200 * kMiB);
}

TEST_F(Many, SessionsInSequenceDoNotGrow) {
  for (int number = 0; number < 20; ++number) ASSERT_EQ(*run(whole(number, "0")), "");
  const std::size_t descriptors = open_descriptors();
  const std::size_t memory = memory_in_use();
  for (int number = 0; number < kInSequence; ++number) {
    ASSERT_EQ(*run(whole(number, "0")), "") << number;
  }
  std::cout << kInSequence << " sessions: from " << (memory >> 10) << " KiB to "
            << (memory_in_use() >> 10) << " KiB\n";
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LT(memory_in_use(), memory + 2 * kMiB);
}

// An executor may be a strand of many threads.
TEST_F(Many, SessionsOnStrandsOfAPoolDoNotMeet) {
  asio::thread_pool pool(4);
  std::vector<std::future<Expected<std::string>>> all;
  for (int number = 0; number < 24; ++number) {
    const Machine on(asio::make_strand(pool.get_executor()));
    all.push_back(asio::co_spawn(on.executor, one_of_two(on, number), asio::use_future));
  }
  for (auto& one : all) {
    ASSERT_EQ(one.wait_for(120s), std::future_status::ready);
    EXPECT_EQ(*one.get(), "");
  }
  pool.join();
}

// Loops of different threads have no lock in common that would order what they do: the thread
// sanitizer sees whatever they share.
TEST_F(Many, SessionsOnLoopsOfDifferentThreadsDoNotMeet) {
  std::vector<std::future<void>> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.push_back(std::async(std::launch::async, [this, thread] {
      asio::io_context loop;
      const Machine on(loop.get_executor());
      std::vector<std::future<Expected<std::string>>> all;
      for (int number = thread * 10; number < thread * 10 + 6; ++number) {
        all.push_back(asio::co_spawn(loop, one_of_two(on, number), asio::use_future));
      }
      loop.run_for(120s);
      for (auto& one : all) {
        ASSERT_EQ(one.wait_for(0s), std::future_status::ready);
        EXPECT_EQ(*one.get(), "");
      }
    }));
  }
  for (auto& thread : threads) thread.get();
}

}  // namespace
}  // namespace client_tests
