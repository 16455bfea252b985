// What our session does beyond upstream's: its mended faults, leases, expiry, and what is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "client/session_scene.hpp"
#include "harness/descendants.hpp"

namespace client_tests {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Rules : public SessionScene {};
class OwnedRules : public Rules {};
class BorrowedRules : public Rules {};
// Those that need a real command.
class LocalRules : public Rules {};

INSTANTIATE_TEST_SUITE_P(Session, Rules, testing::ValuesIn(kForms), form_name);
INSTANTIATE_TEST_SUITE_P(Session, OwnedRules, testing::ValuesIn(kOwned), form_name);
INSTANTIATE_TEST_SUITE_P(Session, BorrowedRules, testing::ValuesIn(kBorrowed), form_name);
INSTANTIATE_TEST_SUITE_P(Session, LocalRules, testing::ValuesIn(kLocal), form_name);

// Upstream gives a stop exactly as long as the worst legal cleanup lasts, and misses its answer.
TEST_P(Rules, AStopWaitsLongerThanTheWorstLegalCleanup) {
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(0), 60s, 3s))));
  const ExecRequest& stop = sandbox().requests["stop"].front();
  const ExecRequest& launch = sandbox().requests["launch"].front();
  EXPECT_THAT(launch.argv, Contains("--cleanup-timeout"));
  EXPECT_THAT(launch.argv, Contains("1"));
  EXPECT_EQ(launch.deadline, 60s + 3s + kExecMargin);
  EXPECT_THAT(stop.argv,
              ElementsAre(session().supervisor(), "stop", "--session", dir(), "--timeout", "5"));
  EXPECT_GT(stop.deadline, 5s);
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(LocalRules, ACleanupThatTakesAllItsTimeIsConfirmedAtOnce) {
  // Ignores TERM: the grace passes whole.
  const SessionCommand stubborn{
      .argv = {"sh", "-c",
               "trap '' TERM; touch " + path("running") + "; while :; do sleep 0.1; done"}};
  const auto executing = execute(stubborn, 60s, 1500ms);
  ASSERT_TRUE(runs_now());
  ASSERT_TRUE(succeeded(end_of(close(1500ms))));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::cancelled));
  EXPECT_EQ(count("stop"), 1u);
  EXPECT_EQ(session().cleanup()->return_code, -9);
}

TEST_P(LocalRules, TheDeadlineIsInTheReceipt) {
  ASSERT_TRUE(is_artifacts(end_of(execute(runs(), 300ms))));
  EXPECT_TRUE(session().cleanup()->timed_out);
  EXPECT_EQ(session().cleanup()->return_code, -15);
  EXPECT_EQ(session().exec_return_code(), 124);
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Rules, ExpireEndsTheCommandAsItsDeadlineWould) {
  const auto executing = execute(runs());
  ASSERT_TRUE(runs_now());
  ASSERT_TRUE(succeeded(run(session().expire(10s))));
  EXPECT_TRUE(is_artifacts(end_of(executing)));
  EXPECT_TRUE(session().cleanup()->timed_out);
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Rules, ExpireNeedsALaunch) {
  EXPECT_TRUE(failed(run(session().expire(10s)), ErrorKind::state, "has not been launched"));
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_THAT(sandbox().log, ElementsAre(release()));
}

TEST_P(Rules, StatusSaysWhatRuns) {
  const auto executing = execute(runs());
  ASSERT_TRUE(runs_now());
  const auto status = run(session().status(10s));
  ASSERT_TRUE(succeeded(status));
  EXPECT_EQ(status->phase, SessionPhase::running);
  if (local()) {
    EXPECT_GE(status->processes.size(), 3u) << "both halves and the command";
  }
  ASSERT_TRUE(succeeded(end_of(close())));
  (void)end_of(executing);
}

TEST_P(Rules, ALaunchHangsOnStandardInputWhereThatReachesTheInside) {
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(0)))));
  const ExecRequest& launch = sandbox().requests["launch"].front();
  EXPECT_EQ(launch.input.kind, Input::Kind::held);
  EXPECT_THAT(launch.argv, Contains("--lease"));
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Rules, ALaunchDoesNotHangOnStandardInputThatMayBeLate) {
  sandbox().seen_traits.passes_stdin_end = false;
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(0)))));
  const ExecRequest& launch = sandbox().requests["launch"].front();
  EXPECT_EQ(launch.input.kind, Input::Kind::nothing);
  EXPECT_THAT(launch.argv, Not(Contains("--lease")));
  ASSERT_TRUE(succeeded(end_of(close())));
}

// The exec client is killed while the command runs: the receipt answers.
TEST_P(LocalRules, AnExecClientThatIsKilledChangesNoVerdict) {
  const auto executing = execute(runs());
  ASSERT_TRUE(runs_now());
  // The guardian is what this machine's transport has started itself.
  int killed = 0;
  for (const auto& row : harness::living_descendants()) {
    if (row.ppid != getpid()) continue;
    kill(row.pid, SIGKILL);
    ++killed;
  }
  ASSERT_EQ(killed, 1);
  (void)end_of(executing);
  ASSERT_TRUE(session().cleanup());
  EXPECT_FALSE(session().cleanup()->timed_out);
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Rules, ACloseWithoutAnExecutionOnlyReleases) {
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_THAT(sandbox().log, ElementsAre(release()));
  EXPECT_TRUE(failed(end_of(execute(exits(0))), ErrorKind::state, "closing or already activated"));
}

TEST_P(Rules, AStagingThatFailsLeavesTheErrorAndNothingElse) {
  Stage stage = []() -> asio::awaitable<Expected<SessionCommand>> {
    co_return fail(ErrorKind::input, "no such input");
  };
  EXPECT_TRUE(failed(end_of(execute(std::move(stage))), ErrorKind::input, "no such input"));
  EXPECT_FALSE(session().closing());
  EXPECT_TRUE(sandbox().log.empty());
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Rules, AHookThatThrowsIsAnError) {
  Stage stage = []() -> asio::awaitable<Expected<SessionCommand>> {
    throw std::runtime_error("a bug of the caller");
    co_return SessionCommand{};
  };
  EXPECT_TRUE(failed(end_of(execute(std::move(stage))), ErrorKind::input, "a bug of the caller"));
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Rules, ASecondCancellationEndsTheWaitingAndNotTheCleanup) {
  sandbox().hold("stop");
  const auto executing = execute(runs());
  ASSERT_TRUE(runs_now());
  executing->cancel();
  ASSERT_TRUE(until([&] { return count("stop") == 1; }));
  EXPECT_FALSE(executing->done());
  executing->cancel();
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::cancelled));
  EXPECT_FALSE(session().cleanup());
  const auto closing = close();
  turn();
  EXPECT_FALSE(closing->done());
  sandbox().open("stop");
  ASSERT_TRUE(succeeded(end_of(closing)));
  EXPECT_EQ(count("stop"), 1u) << "the close has joined it";
  EXPECT_TRUE(session().cleanup());
}

TEST_P(BorrowedRules, ARemovalThatLostItsSupervisorPlacesItAgain) {
  sandbox().afterwards["remove"] = [](ExecResult& result) {
    // It was carried out, but the answer is lost.
    result.return_code.reset();
    result.error = Error{ErrorKind::transport, "the line is dead", {}};
  };
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(0)))));
  EXPECT_TRUE(failed(end_of(close()), ErrorKind::transport, "Could not remove demo session files"));
  EXPECT_EQ(count("disconnect"), 0u);
  sandbox().afterwards.clear();
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_EQ(count("upload"), 2u);
  EXPECT_FALSE(harness::exists(dir()));
}

TEST_P(OwnedRules, FilesThatOutliveAnOwnedSandboxAreRemovedBefore) {
  sandbox().seen_traits.files_outlive_stop = true;
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(0)))));
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_LT(index("remove"), index("end sandbox"));
  EXPECT_EQ(count("remove"), 1u);
  EXPECT_FALSE(harness::exists(dir()));
}

TEST_P(OwnedRules, ARemovalThatFailsDoesNotHoldAnOwnedSandboxUp) {
  sandbox().seen_traits.files_outlive_stop = true;
  sandbox().failures["remove"] = 1;
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(0)))));
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_EQ(count("end sandbox"), 1u);
  EXPECT_THAT(warnings, Contains(HasSubstr("Could not remove demo session files")));
}

TEST_P(LocalRules, ALaunchThatIsRefusedIsAnError) {
  options.launch_options = {"--no-such-option"};
  EXPECT_TRUE(failed(end_of(execute(exits(0))), ErrorKind::input, "--no-such-option"));
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(LocalRules, NothingOutlivesTheCommand) {
  const SessionCommand leaves{
      .argv = {"sh", "-c",
               "setsid sleep 1000 & sleep 1000 & touch " + path("running") + "; exit 5"}};
  ASSERT_TRUE(is_artifacts(end_of(execute(leaves))));
  EXPECT_EQ(session().cleanup()->return_code, 5);
  ASSERT_TRUE(succeeded(end_of(close())));
  // TearDown looks for processes.
}

TEST_P(LocalRules, WhereTheCommandRunsAndWithWhat) {
  options.workdir = "/usr";
  options.descendants = Descendants::group;
  const SessionCommand command{.argv = {"sh", "-c", "pwd; echo \"$WORD\"; echo '$(literal)'"},
                               .environment = {{"WORD", "two words"}}};
  ASSERT_TRUE(is_artifacts(end_of(execute(command))));
  EXPECT_EQ(run(session().read_output_log()), "/usr\ntwo words\n$(literal)\n");
  ASSERT_TRUE(succeeded(end_of(close())));
}

}  // namespace
}  // namespace client_tests
