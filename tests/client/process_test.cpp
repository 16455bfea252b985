// The one spawner, over real processes.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "client/scene.hpp"
#include "client/src/process.hpp"
#include "client/src/starter.hpp"
#include "harness/descendants.hpp"

namespace client_tests {
namespace {

class Processes : public Scene {
 protected:
  ProcessEnd end_of(ProcessRequest request) {
    return run(guarded(run_process(std::move(request))));
  }
  static ProcessRequest shell(std::string text) {
    return {.command = {.argv = {"/bin/sh", "-c", std::move(text)}}};
  }
  std::shared_ptr<Pending<ProcessEnd>> start_process(ProcessRequest request) {
    return start(guarded(run_process(std::move(request))));
  }
  static pid_t pid_in(const std::string& file) {
    const std::string text = harness::read_file(file);
    return text.empty() ? 0 : std::stoi(text);
  }
  static bool lives(pid_t pid) {
    const harness::ProcessRow row = harness::process_row(pid);
    return pid > 0 && row.pid == pid && row.living();
  }
};

TEST_F(Processes, GiveTheirOutputAndTheirCode) {
  const ProcessEnd end = end_of(shell("printf out; printf err >&2; exit 7"));
  ASSERT_FALSE(end.error) << end.error->text();
  EXPECT_EQ(end.out, "out");
  EXPECT_EQ(end.err, "err");
  EXPECT_EQ(end.status->code, 7);
  EXPECT_FALSE(end.status->signaled);
}

TEST_F(Processes, SayWhichSignalTheyDiedOf) {
  const ProcessEnd end = end_of(shell("kill -KILL $$"));
  EXPECT_EQ(end.status->code, 137);
  EXPECT_TRUE(end.status->signaled);
}

TEST_F(Processes, AreTheirOwnSessionWithDefaultSignalsAndNothingOfOurs) {
  signal(SIGUSR1, SIG_IGN);
  // A descriptor of the program that is not close-on-exec.
  const int leaky = fcntl(0, F_DUPFD, 50);
  const ProcessEnd end =
      end_of(shell("ls /proc/self/fd | sort -n | tail -n 1; ps -o sid= -p $$ | tr -d ' '; echo $$; "
                   "grep -E '^Sig(Ign|Blk)' /proc/self/status"));
  close(leaky);
  signal(SIGUSR1, SIG_DFL);
  const Words lines = harness::split(end.out, '\n');
  ASSERT_GE(lines.size(), 5u) << end.out << end.err;
  EXPECT_LE(std::stoi(lines[0]), 3) << "3 is ls's own";
  EXPECT_EQ(lines[1], lines[2]);
  EXPECT_NE(lines[3].find("0000000000000000"), std::string::npos) << lines[3];
  // 32 and 33 are glibc's own, which it never lets a spawned process have.
  const auto ignored = std::stoull(lines[4].substr(lines[4].find(':') + 1), nullptr, 16);
  EXPECT_EQ(ignored & ~0x180000000ull, 0u) << lines[4];
}

TEST_F(Processes, RunWhereAndWithWhatTheyAreTold) {
  ProcessRequest request = shell("pwd; echo $ADDED; echo $HOME");
  request.command.cwd = "/usr";
  request.command.environment = {{"ADDED", "a b"}, {"HOME", "/other"}};
  EXPECT_EQ(end_of(std::move(request)).out, "/usr\na b\n/other\n");
}

TEST_F(Processes, ThatCannotStartSayWhy) {
  const ProcessEnd missing = end_of({.command = {.argv = {"/nonexistent/tool"}}});
  EXPECT_EQ(missing.spawn_error, ENOENT);
  EXPECT_TRUE(is_error(*missing.error, ErrorKind::transport, "cannot start '/nonexistent/tool'"));
  ProcessRequest request = shell("exit 0");
  request.command.cwd = "/nonexistent";
  EXPECT_TRUE(is_error(*end_of(std::move(request)).error, ErrorKind::input,
                       "cannot start in '/nonexistent'"));
}

TEST_F(Processes, ReadTextFileOrNothing) {
  ProcessRequest text = shell("cat");
  text.input = Input::text(std::string(300000, 'x'));
  EXPECT_EQ(end_of(std::move(text)).out.size(), 300000u);
  harness::write_file(path("input"), "from a file");
  ProcessRequest file = shell("cat");
  file.input = Input::file(path("input"));
  EXPECT_EQ(end_of(std::move(file)).out, "from a file");
  EXPECT_EQ(end_of(shell("cat; echo end")).out, "end\n");
}

// Whoever does not read his input has the right to: no SIGPIPE, and no error.
TEST_F(Processes, MayLeaveTheirInputUnread) {
  ProcessRequest request = shell("exec 0<&-; sleep 0.1; exit 3");
  request.input = Input::text(std::string(1 << 20, 'x'));
  const ProcessEnd end = end_of(std::move(request));
  EXPECT_FALSE(end.error);
  EXPECT_EQ(end.status->code, 3);
}

TEST_F(Processes, WithHeldInputSeeNoEndOfIt) {
  ProcessRequest request = shell("read line; echo \"got $line\"; sleep 0.2; read line || echo end");
  request.input = {Input::Kind::held, "first\n"};
  request.deadline = Clock::now() + 700ms;
  const ProcessEnd end = end_of(std::move(request));
  EXPECT_EQ(end.out, "got first\n");
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->kind, ErrorKind::timeout);
}

TEST_F(Processes, KeepAtMostTheCapAndSayThatThereWasMore) {
  ProcessRequest request = shell("head -c 1000000 /dev/zero; printf 1234567890 >&2");
  request.output_cap = 10;
  std::size_t seen = 0;
  request.on_output = [&](OutputStream stream, std::string_view bytes) {
    if (stream == OutputStream::out) seen += bytes.size();
  };
  const ProcessEnd end = end_of(std::move(request));
  EXPECT_EQ(end.out.size(), 10u);
  EXPECT_TRUE(end.out_cut);
  EXPECT_EQ(end.err, "1234567890");
  EXPECT_FALSE(end.err_cut);
  EXPECT_EQ(seen, 1000000u);
  EXPECT_EQ(end.status->code, 0) << "it was read to its end";
}

TEST_F(Processes, AreEndedWithTheirGroupWhenTimeIsOver) {
  // The leader dies of TERM; the child does not, and must not be forgotten.
  ProcessRequest request = shell("sh -c 'trap \"\" TERM; echo $$ >" + path("child") +
                                 "; while :; do sleep 0.1; done' & echo partial; wait");
  request.deadline = Clock::now() + 1s;
  const auto begin = Clock::now();
  const auto pending = start_process(std::move(request));
  ASSERT_TRUE(until([&] { return lives(pid_in(path("child"))); }));
  ASSERT_TRUE(until([&] { return pending->done(); }));
  const ProcessEnd& end = pending->result();
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->kind, ErrorKind::timeout);
  EXPECT_EQ(end.out, "partial\n") << "what came is given all the same";
  EXPECT_GE(Clock::now() - begin, 1s);
  EXPECT_TRUE(harness::eventually([&] { return !lives(pid_in(path("child"))); }, 5));
}

TEST_F(Processes, ThatIgnoreTermAreKilled) {
  ProcessRequest request = shell("trap '' TERM; while :; do sleep 0.05; done");
  request.deadline = Clock::now() + 300ms;
  const ProcessEnd end = end_of(std::move(request));
  EXPECT_EQ(end.error->kind, ErrorKind::timeout);
  EXPECT_EQ(end.status->code, 137);
}

TEST_F(Processes, EndWhenTheyAreCancelled) {
  const auto pending = start_process(shell("echo $$ >" + path("pid") + "; exec sleep 1000"));
  ASSERT_TRUE(until([&] { return lives(pid_in(path("pid"))); }));
  const auto begin = Clock::now();
  pending->cancel();
  ASSERT_TRUE(until([&] { return pending->done(); }));
  ASSERT_FALSE(pending->threw());
  EXPECT_EQ(pending->result().error->kind, ErrorKind::cancelled);
  EXPECT_LT(Clock::now() - begin, 10s);
  EXPECT_FALSE(lives(pid_in(path("pid"))));
}

TEST_F(Processes, ThatAreCancelledBeforeTheyStartDoNotStart) {
  const auto pending = start_process(shell("touch " + path("ran")));
  pending->cancel();
  ASSERT_TRUE(until([&] { return pending->done(); }));
  turn();
  EXPECT_FALSE(harness::exists(path("ran")));
}

// A session that is stopped while its directory is being made removes it, and it must stay removed.
TEST_F(Processes, HaveNoEffectAfterTheyAreOver) {
  const auto name = [&](int round) { return path("made-" + std::to_string(round)); };
  std::vector<bool> made;
  for (int round = 0; round < 200; ++round) {
    const auto pending = start_process({.command = {.argv = {"mkdir", name(round)}}});
    turn(round * 20e-6);
    pending->cancel();
    ASSERT_TRUE(until([&] { return pending->done(); }));
    made.push_back(harness::exists(name(round)));
  }
  turn(0.5);  // for those that would come late
  for (int round = 0; round < 200; ++round) EXPECT_EQ(harness::exists(name(round)), made[round]);
}

TEST_F(Processes, ThatComeTooLateAreNotLeftBehind) {
  for (int round = 0; round < 20; ++round) {
    ProcessRequest request = shell("exec sleep 1000");
    request.deadline = Clock::now() + round * 50us;
    EXPECT_TRUE(is_error(*end_of(std::move(request)).error, ErrorKind::timeout));
  }
  // TearDown looks.
}

// As in a program that lets others collect its children: the number may be anybody's by now.
TEST_F(Processes, AreNotSignalledWhereTheyAreNotOurChildren) {
  const auto parent =
      start_process(shell("setsid sleep 1000 & echo $! >" + path("pid") + "; wait"));
  ASSERT_TRUE(until([&] { return lives(pid_in(path("pid"))); }));
  const pid_t stranger = pid_in(path("pid"));
  ASSERT_TRUE(until([&] { return getpgid(stranger) == stranger; }));
  EXPECT_FALSE(is_held(stranger));
  end_and_collect(stranger);
  turn(0.05);
  EXPECT_TRUE(lives(stranger));
  kill(stranger, SIGKILL);
  ASSERT_TRUE(until([&] { return parent->done(); }));
}

// The commonest hang of such tools: a service in the background holds the output pipe.
TEST_F(Processes, AreOverWhenTheyEndWhoeverHoldsTheirPipes) {
  const auto begin = Clock::now();
  const ProcessEnd end = end_of(shell("sleep 1000 & echo $! >" + path("pid") + "; echo done"));
  const pid_t holder = pid_in(path("pid"));
  EXPECT_TRUE(lives(holder)) << "a natural end kills nobody";
  EXPECT_FALSE(end.error);
  EXPECT_EQ(end.out, "done\n");
  EXPECT_LT(Clock::now() - begin, 20s);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
}

TEST_F(Processes, LoseNothingThatTheyWroteBeforeTheirEnd) {
  for (int round = 0; round < 20; ++round) {
    const ProcessEnd end = end_of(shell("head -c 60000 /dev/zero"));
    ASSERT_EQ(end.out.size(), 60000u) << "round " << round;
  }
}

TEST_F(Processes, FlowThroughASlowSinkWhole) {
  std::size_t total = 0;
  ProcessRequest request = shell("head -c 400000 /dev/zero");
  request.sink = [&](std::string_view bytes) -> asio::awaitable<Expected<void>> {
    total += bytes.size();
    asio::steady_timer timer(executor(), 60ms);
    co_await timer.async_wait(asio::use_awaitable);
    co_return Expected<void>{};
  };
  const ProcessEnd end = end_of(std::move(request));
  EXPECT_FALSE(end.error);
  EXPECT_EQ(total, 400000u);
}

TEST_F(Processes, EndWhenTheirSinkFails) {
  ProcessRequest request = shell("yes");
  request.sink = [](std::string_view) -> asio::awaitable<Expected<void>> {
    co_return fail(ErrorKind::input, "the disk is full");
  };
  const ProcessEnd end = end_of(std::move(request));
  ASSERT_TRUE(end.error);
  EXPECT_TRUE(is_error(*end.error, ErrorKind::input, "the disk is full"));
}

TEST_F(Processes, SeeNoEndOfFileWhenTheirSourceFails) {
  // Half of an input must not look like the whole of it.
  ProcessRequest request = shell("cat >/dev/null; touch " + path("whole"));
  bool first = true;
  request.source = [&](std::span<char> into) -> asio::awaitable<Expected<std::size_t>> {
    if (!std::exchange(first, false)) co_return fail(ErrorKind::input, "the source is gone");
    into[0] = 'x';
    co_return std::size_t{1};
  };
  const ProcessEnd end = end_of(std::move(request));
  EXPECT_TRUE(is_error(*end.error, ErrorKind::input, "the source is gone"));
  EXPECT_FALSE(harness::exists(path("whole")));
}

TEST_F(Processes, RunByTheHundredsWithoutALeak) {
  (void)end_of(shell("exit 0"));
  const std::size_t before = open_descriptors();
  std::vector<std::shared_ptr<Pending<ProcessEnd>>> all;
  for (int number = 0; number < 200; ++number) {
    all.push_back(start_process(shell("exit " + std::to_string(number % 100))));
  }
  ASSERT_TRUE(
      until([&] { return std::ranges::all_of(all, [](auto& one) { return one->done(); }); }));
  for (std::size_t number = 0; number < all.size(); ++number) {
    ASSERT_FALSE(all[number]->result().error) << all[number]->result().error->text();
    EXPECT_EQ(all[number]->result().status->code, static_cast<int>(number % 100));
  }
  EXPECT_EQ(open_descriptors(), before);
}

// Whether a thread of ours is about to start them, has just done so, or nobody has asked it yet.
TEST_F(Processes, ThatAreStartingAreKilledWithTheirLoop) {
  for (int count = 0; count < 30; ++count) (void)start_process(shell("exec sleep 1000"));
  turn(0.003);
  // TearDown destroys the loop and looks.
}

TEST_F(Processes, CanBeStartedByAProgramThatHasForked) {
  (void)end_of(
      shell("exit 0"));  // the threads that start processes are there, and not in the child
  const pid_t child = fork();
  if (child == 0) {
    asio::io_context loop;
    ProcessEnd end;
    asio::co_spawn(loop, guarded(run_process(shell("exit 3"))),
                   [&](const std::exception_ptr&, ProcessEnd result) { end = std::move(result); });
    loop.run_for(30s);
    _exit(end.status && end.status->code == 3 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A loop that is destroyed with processes in it takes them along.
TEST_F(Processes, AreKilledWithTheirLoop) {
  (void)start_process(shell("echo $$ >" + path("pid") + "; exec sleep 1000"));
  ASSERT_TRUE(until([&] { return lives(pid_in(path("pid"))); }));
  // TearDown destroys the loop and looks.
}

}  // namespace
}  // namespace client_tests
