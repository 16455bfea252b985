// The behaviours of upstream's session (spec 4.9, by number), each against a scripted sandbox and
// against this machine, owned and borrowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "client/session_scene.hpp"

namespace client_tests {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr Form kAll[] = {{Where::fake, Ownership::owned},
                         {Where::fake, Ownership::borrowed},
                         {Where::local, Ownership::owned},
                         {Where::local, Ownership::borrowed}};

class Behaviour : public SessionScene {
 protected:
  // Never ends, unless it is cancelled.
  asio::awaitable<void> for_ever() {
    Event never(executor());
    (void)co_await never.wait();
  }
  static Error collection_error() { return {ErrorKind::sandbox, "the artifact is missing", {}}; }
};

INSTANTIATE_TEST_SUITE_P(Session, Behaviour, testing::ValuesIn(kAll), form_name);

TEST_P(Behaviour, N01_ACompletedRunReturnsArtifactsAndReleasesOnlyWhenClosed) {
  const auto executing = execute(exits(0));
  ASSERT_TRUE(is_artifacts(end_of(executing)));
  ASSERT_TRUE(session().cleanup());
  EXPECT_EQ(session().cleanup()->return_code, 0);
  EXPECT_TRUE(is_artifacts(session().artifacts()));
  EXPECT_FALSE(session().closing());
  EXPECT_EQ(count(release()), 0u);
  EXPECT_EQ(count("remove"), 0u);

  const auto first = close();
  const auto second = close();
  ASSERT_TRUE(succeeded(end_of(first)));
  ASSERT_TRUE(succeeded(end_of(second)));
  const auto third = close();
  ASSERT_TRUE(succeeded(end_of(third)));
  EXPECT_TRUE(session().closed());
  EXPECT_EQ(session().sandbox_stopped(), owned());
  EXPECT_EQ(count("collect"), 1u);
  if (owned()) {
    EXPECT_THAT(sandbox().log, ElementsAre("upload", "version", "create", "launch",
                                           "launch returned", "stop", "collect", "end sandbox"));
  } else {
    EXPECT_THAT(sandbox().log,
                ElementsAre("upload", "version", "create", "launch", "launch returned", "stop",
                            "collect", "remove", "disconnect"));
    EXPECT_FALSE(harness::exists(dir()));
    EXPECT_FALSE(harness::exists(dir() + ".closed"));
  }
  const auto& words = sandbox().requests["launch"].front().argv;
  EXPECT_EQ(std::ranges::count(words, "--shield=try"), owned() ? 1 : 0);
  const auto again = execute(exits(0));
  EXPECT_TRUE(failed(end_of(again), ErrorKind::state, "closing or already activated"));
}

TEST_P(Behaviour, N02_AnInterruptionByCloseConfirmsCollectsCancelsAndReleasesInThatOrder) {
  std::size_t cancelled_before_collect = 0;
  bool confirmed_before_collect = false;
  Event go(executor());
  collecting = [&]() -> asio::awaitable<Expected<Artifacts>> {
    confirmed_before_collect = session().cleanup().has_value();
    cancelled_before_collect = count("launch cancelled");
    (void)co_await go.wait();
    co_return Artifacts{std::string("artifacts")};
  };
  // The exec call is one that does not return by itself.
  sandbox().afterwards["launch"] = [](ExecResult&) {};
  const auto executing = execute(runs());
  ASSERT_TRUE(runs_now());
  const auto first = close();
  const auto second = close();
  ASSERT_TRUE(until([&] { return count("collect") == 1; }));
  // One of those who wait leaves: nothing changes for the others, nor for the collection.
  first->cancel();
  EXPECT_TRUE(failed(end_of(first), ErrorKind::cancelled));
  turn();
  EXPECT_FALSE(second->done());
  EXPECT_EQ(count(release()), 0u);
  go.set();
  ASSERT_TRUE(succeeded(end_of(second)));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::cancelled));
  EXPECT_TRUE(confirmed_before_collect);
  EXPECT_EQ(cancelled_before_collect, 0u);
  EXPECT_TRUE(is_artifacts(session().artifacts()));
  EXPECT_EQ(count("collect"), 1u);
  EXPECT_LT(index("stop"), index("collect"));
  EXPECT_LT(index("collect"), index(release()));
  if (!owned()) {
    EXPECT_LT(index("remove"), index("disconnect"));
  }
}

TEST_P(Behaviour, N02_CancellingExecuteStopsConfirmsAndCollects) {
  const auto executing = execute(runs());
  ASSERT_TRUE(runs_now());
  executing->cancel();
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::cancelled));
  ASSERT_TRUE(session().cleanup());
  EXPECT_TRUE(is_artifacts(session().artifacts()));
  EXPECT_LT(index("stop"), index("collect"));
  EXPECT_FALSE(session().closing());
  EXPECT_EQ(count(release()), 0u);
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_EQ(count("collect"), 1u);
}

// With an exec call that does not return although all has ended: only then it is cancelled.
TEST_P(Behaviour, N02_TheExecCallIsCancelledAfterConfirmationAndCollection) {
  sandbox().hold("launch");
  const auto executing = execute(runs());
  ASSERT_TRUE(until([&] { return count("launch") == 1; }));
  executing->cancel();
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::cancelled));
  ASSERT_GE(index("launch cancelled"), 0);
  EXPECT_LT(index("collect"), index("launch cancelled"));
  EXPECT_LT(index("stop"), index("collect"));
  ASSERT_TRUE(session().cleanup());
  EXPECT_EQ(session().cleanup()->return_code, std::nullopt) << "it was fenced";
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N03_CloseDuringTheCollectionJoinsIt) {
  Event go(executor());
  collecting = [&]() -> asio::awaitable<Expected<Artifacts>> {
    (void)co_await go.wait();
    co_return Artifacts{std::string("artifacts")};
  };
  const auto executing = execute(exits(0));
  ASSERT_TRUE(until([&] { return count("collect") == 1; }));
  const auto closing = close();
  turn();
  EXPECT_FALSE(closing->done());
  EXPECT_EQ(count(release()), 0u);
  EXPECT_EQ(count("stop"), 1u);
  go.set();
  EXPECT_TRUE(is_artifacts(end_of(executing)));
  ASSERT_TRUE(succeeded(end_of(closing)));
  EXPECT_EQ(count("stop"), 1u);
  EXPECT_EQ(count("collect"), 1u);
}

TEST_P(Behaviour, N04_CloseDuringInputPreparationCancelsItAndLaunchesNothing) {
  bool prepared = false;
  bool settled = false;
  Stage stage = [&]() -> asio::awaitable<Expected<SessionCommand>> {
    prepared = true;
    co_await for_ever();
    settled = true;
    co_return fail(ErrorKind::cancelled, "preparation was cancelled");
  };
  const auto executing = execute(std::move(stage));
  ASSERT_TRUE(until([&] { return prepared; }));
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_TRUE(settled);
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::cancelled));
  EXPECT_FALSE(session().launch_started());
  // Nothing of ours has come into the sandbox yet, so that there is nothing to remove.
  EXPECT_THAT(sandbox().log, ElementsAre(release()));
}

TEST_P(Behaviour, N04_PreparationThatSwallowsTheCancellationIsNotLaunched) {
  bool prepared = false;
  Stage stage = [&]() -> asio::awaitable<Expected<SessionCommand>> {
    prepared = true;
    co_await for_ever();
    co_return exits(0);
  };
  const auto executing = execute(std::move(stage));
  ASSERT_TRUE(until([&] { return prepared; }));
  ASSERT_TRUE(succeeded(end_of(close())));
  ASSERT_FALSE(end_of(executing));
  EXPECT_EQ(count("launch"), 0u);
  EXPECT_EQ(count("collect"), 0u);
}

TEST_P(Behaviour, N05_AnExecCallThatFailsKeepsReceiptAndArtifacts) {
  struct Failure {
    ErrorKind kind;
    const char* words;
  };
  const Failure failure = local() ? Failure{ErrorKind::transport,
                                            "demo sandbox execution failed: "
                                            "transport: the line is dead"}
                                  : Failure{ErrorKind::sandbox,
                                            "demo sandbox execution failed: "
                                            "sandbox: the line is dead"};
  sandbox().afterwards["launch"] = [&](ExecResult& result) {
    result.return_code.reset();
    result.error = Error{failure.kind, "the line is dead", {}};
  };
  const auto executing = execute(exits(3));
  EXPECT_TRUE(failed(end_of(executing), failure.kind, failure.words));
  ASSERT_TRUE(session().cleanup());
  EXPECT_EQ(session().cleanup()->return_code, 3) << "the receipt answers, not the transport";
  EXPECT_TRUE(is_artifacts(session().artifacts()));
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N05_AnExecCallThatIsLateIsATimeout) {
  sandbox().afterwards["launch"] = [&](ExecResult& result) {
    result.return_code.reset();
    result.error = Error{ErrorKind::timeout, "late", {}};
  };
  const auto executing = execute(exits(0));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::timeout,
                     "demo sandbox supervisor exceeded its execution deadline"));
  ASSERT_TRUE(session().cleanup());
  EXPECT_TRUE(is_artifacts(session().artifacts()));
  ASSERT_TRUE(succeeded(end_of(close())));
}

// The call fails while the command runs on: the stop ends it.
TEST_P(Behaviour, N05_AnExecCallThatFailsBeforeTheEndIsFollowedByAStop) {
  sandbox().failures["launch"] = 1;
  const auto executing = execute(runs());
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::transport, "launch failed"));
  EXPECT_EQ(count("stop"), 1u);
  ASSERT_TRUE(session().cleanup());
  EXPECT_EQ(session().cleanup()->return_code, std::nullopt);
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N06_AnExecErrorWinsOverACollectionError) {
  sandbox().afterwards["launch"] = [](ExecResult& result) {
    result.error = Error{ErrorKind::transport, "the line is dead", {}};
  };
  collecting = [&]() -> asio::awaitable<Expected<Artifacts>> {
    co_return fail(collection_error());
  };
  const auto executing = execute(exits(0));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::transport, "the line is dead"));
  ASSERT_TRUE(session().capture_error());
  EXPECT_EQ(session().capture_error()->message, "the artifact is missing");
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_EQ(count("collect"), 1u);
}

TEST_P(Behaviour, N07_ACollectionThatHangsIsATimeoutAndKeepsTheReceipt) {
  collecting = [&]() -> asio::awaitable<Expected<Artifacts>> {
    co_await for_ever();
    co_return fail(ErrorKind::cancelled, "cancelled");
  };
  const auto executing = execute(exits(0), 60s, local() ? 3s : 500ms);
  EXPECT_TRUE(
      failed(end_of(executing), ErrorKind::timeout, "artifact capture did not end in time"));
  ASSERT_TRUE(session().capture_error());
  EXPECT_EQ(session().capture_error()->kind, ErrorKind::timeout);
  ASSERT_TRUE(session().cleanup());
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_EQ(count("collect"), 1u);
}

TEST_P(Behaviour, N08_WithoutEvidenceABorrowedSandboxIsKeptUntilThereIsSome) {
  if (owned()) GTEST_SKIP() << "for borrowed sandboxes; see 9 for owned ones";
  sandbox().failures["stop"] = 2;
  const auto executing = execute(exits(0));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::unknown,
                     "demo launch outcome is unknown; cannot confirm termination"));
  EXPECT_TRUE(failed(end_of(close()), ErrorKind::unknown, "launch outcome is unknown"));
  EXPECT_TRUE(session().closing());
  EXPECT_FALSE(session().closed());
  for (const char* step : {"collect", "end sandbox", "disconnect", "remove"}) {
    EXPECT_EQ(count(step), 0u) << step;
  }
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_TRUE(session().closed());
  EXPECT_EQ(count("collect"), 1u);
  EXPECT_EQ(count("disconnect"), 1u);
}

TEST_P(Behaviour, N08_AFinalNegativeReceiptIsTerminal) {
  sandbox().afterwards["stop"] = [](ExecResult& result) {
    result.return_code = 123;
    result.out = R"({"cleanup_confirmed": false, "return_code": null, "error": "one is left", )"
                 R"("timed_out": false})";
  };
  const auto executing = execute(exits(0));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::unconfirmed,
                     "demo sandbox cleanup was not confirmed: one is left"));
  ASSERT_TRUE(session().refused_cleanup());
  EXPECT_FALSE(session().cleanup());
  // It says no for good: asking again changes nothing, and the borrower may go.
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_TRUE(session().closed());
  EXPECT_EQ(count("stop"), 1u);
  EXPECT_EQ(count("collect"), 0u);
  EXPECT_EQ(count("remove"), 0u) << "its files are the evidence";
  EXPECT_EQ(count(release()), 1u);
  EXPECT_TRUE(session().capture_error());
}

TEST_P(Behaviour, N08_BytesThatAreNoReceiptAreNegativeOnlyIfQuietusSaysSo) {
  const bool final = owned();
  sandbox().afterwards["stop"] = [&](ExecResult& result) {
    result.return_code = final ? 123 : 0;
    result.out = "[]\n";
  };
  const auto executing = execute(exits(0));
  EXPECT_TRUE(failed(end_of(executing), final ? ErrorKind::unconfirmed : ErrorKind::unknown,
                     final ? "cleanup receipt is not a JSON object" : "launch outcome is unknown"));
  sandbox().afterwards.clear();
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N09_AnOwnedSandboxWithoutEvidenceIsStopped) {
  if (!owned()) GTEST_SKIP() << "for owned sandboxes; see 8 for borrowed ones";
  options.stop_margin = 100ms;
  sandbox().hold("stop");
  const auto executing = execute(runs());
  ASSERT_TRUE(runs_now());
  ASSERT_TRUE(succeeded(end_of(close(300ms))));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::cancelled));
  EXPECT_TRUE(session().closed());
  EXPECT_FALSE(session().cleanup());
  ASSERT_TRUE(session().capture_error());
  EXPECT_THAT(session().capture_error()->message,
              AnyOf(HasSubstr("artifact capture unavailable during forced stop"),
                    HasSubstr("sandbox stopped before artifact capture")));
  EXPECT_EQ(count("collect"), 0u);
  EXPECT_EQ(count("end sandbox"), 1u);
  EXPECT_THAT(warnings, Contains("demo graceful cleanup failed; stopping owned sandbox"));
}

TEST_P(Behaviour, N10_AReleaseThatFailsIsTriedAgain) {
  sandbox().failures[release()] = 1;
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(0)))));
  EXPECT_TRUE(failed(end_of(close()), ErrorKind::transport, release() + " failed"));
  EXPECT_TRUE(session().closing());
  EXPECT_FALSE(session().closed());
  EXPECT_FALSE(session().sandbox_stopped());
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_TRUE(session().closed());
  EXPECT_EQ(count(release()), 2u) << "the second is no silent no-op";
  EXPECT_EQ(count("collect"), 1u);
  EXPECT_EQ(count("remove"), owned() ? 0u : 1u) << "what was done is not done again";
}

TEST_P(Behaviour, N11_ACommandThatFailsIsNoError) {
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(1)))));
  EXPECT_EQ(session().cleanup()->return_code, 1);
  EXPECT_EQ(session().exec_return_code(), 1);
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N11_MalformedDiagnosticsAreDroppedAndNotShown) {
  sandbox().afterwards["stop"] = [](ExecResult& result) {
    result.out = R"({"cleanup_confirmed": true, "return_code": "1", "error": ["a secret"]})";
  };
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(1)))));
  EXPECT_EQ(session().cleanup()->return_code, std::nullopt);
  EXPECT_THAT(warnings, ElementsAre("demo " + std::string(kReceiptFieldsDropped)));
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N12_ALaunchThatFailsNamesItsCodeAndItsWords) {
  collecting = [&]() -> asio::awaitable<Expected<Artifacts>> {
    co_return fail(collection_error());
  };
  sandbox().instead["launch"] = [] {
    ExecResult result;
    result.return_code = 127;
    result.err = "sh: cannot start the interpreter\n";
    return result;
  };
  const auto executing = execute(exits(0));
  const auto& result = end_of(executing);
  ASSERT_TRUE(failed(result, ErrorKind::sandbox, "demo sandbox execution failed (exit 127)"));
  EXPECT_THAT(result.error().message, HasSubstr("cannot start the interpreter"));
  ASSERT_TRUE(result.error().cause);
  EXPECT_EQ(result.error().cause->message, "the artifact is missing");
  ASSERT_TRUE(session().cleanup());
  EXPECT_EQ(session().cleanup()->return_code, std::nullopt);
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N12_WithoutAFailureOfTheLaunchTheCollectionErrorIsGivenAsItIs) {
  collecting = [&]() -> asio::awaitable<Expected<Artifacts>> {
    co_return fail(collection_error());
  };
  const auto executing = execute(exits(0));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::sandbox, "the artifact is missing"));
  EXPECT_EQ(end_of(executing).error().message, "the artifact is missing");
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N13_TheSupervisorIsUploadedToTheSessionBeforeTheLaunch) {
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(0)))));
  EXPECT_LT(index("upload"), index("launch"));
  EXPECT_EQ(session().supervisor(), dir() + "/quietus");
  EXPECT_EQ(sandbox().requests["launch"].front().argv.front(), dir() + "/quietus");
  TransferOptions transfer;
  ASSERT_TRUE(succeeded(run(sandbox().download(dir() + "/quietus", path("back"), transfer))));
  EXPECT_EQ(harness::read_file(path("back")), harness::read_file(harness::quietus_binary()));
  EXPECT_FALSE(session().closing());
  EXPECT_FALSE(session().closed());
  EXPECT_EQ(count(release()), 0u);
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N14_CloseDuringTheUploadSettlesItFirst) {
  sandbox().hold("upload");
  const auto executing = execute(exits(0));
  ASSERT_TRUE(until([&] { return count("upload") == 1; }));
  const auto closing = close();
  ASSERT_TRUE(until([&] { return count("upload cancelled") == 1; }));
  sandbox().open("upload");
  ASSERT_TRUE(succeeded(end_of(closing)));
  EXPECT_LT(index("upload cancelled"), index(release()));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::cancelled));
  EXPECT_FALSE(session().launch_started());
  EXPECT_TRUE(session().closed());
  EXPECT_EQ(count("launch"), 0u);
  EXPECT_EQ(count("stop"), 0u);
  if (!owned()) {
    EXPECT_FALSE(harness::exists(dir()));
  }
}

TEST_P(Behaviour, N15_AnUploadThatFailsIsTheError) {
  sandbox().failures["upload"] = 1;
  const auto executing = execute(exits(0));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::transport, "upload failed"));
  EXPECT_FALSE(session().launch_started());
  EXPECT_FALSE(session().closing());
  EXPECT_TRUE(sandbox().requests.empty());
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_TRUE(session().closed());
}

TEST_P(Behaviour, N16_ACloseThatIsCancelledDuringTheReleaseIsTriedAgain) {
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(0)))));
  sandbox().hold(release());
  const auto closing = close();
  ASSERT_TRUE(until([&] { return count(release()) == 1; }));
  closing->cancel();
  EXPECT_TRUE(failed(end_of(closing), ErrorKind::cancelled));
  EXPECT_TRUE(session().closing());
  EXPECT_FALSE(session().closed());
  const auto again = execute(exits(0));
  EXPECT_TRUE(failed(end_of(again), ErrorKind::state, "closing or already activated"));
  sandbox().open(release());
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_TRUE(session().closed());
}

TEST_P(Behaviour, N17_TheOutputLogCanBeReadBeforeTheRelease) {
  collecting = [&]() -> asio::awaitable<Expected<Artifacts>> {
    const std::string log = co_await session().read_output_log();
    co_return fail(ErrorKind::sandbox, "no artifact; the log says: " + log);
  };
  const auto executing = execute(exits(0));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::sandbox, "the log says: said something"));
  EXPECT_EQ(run(session().read_output_log(5)), "hing\n") << "its end";
  ASSERT_TRUE(succeeded(end_of(close())));
}

TEST_P(Behaviour, N18_ALogThatCannotBeReadHidesNothing) {
  sandbox().failures["download"] = 1;
  collecting = [&]() -> asio::awaitable<Expected<Artifacts>> {
    const std::string log = co_await session().read_output_log();
    co_return fail(ErrorKind::sandbox, "the artifact is missing" + log);
  };
  const auto executing = execute(exits(0));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::sandbox, "the artifact is missing"));
  EXPECT_EQ(end_of(executing).error().message, "the artifact is missing");
  EXPECT_THAT(warnings, Contains(HasSubstr("Could not read demo harness output log")));
  ASSERT_TRUE(session().cleanup());
  ASSERT_TRUE(succeeded(end_of(close())));
}

}  // namespace
}  // namespace client_tests
