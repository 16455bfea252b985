// The behaviours of upstream's session (spec 4.9, by number), each against a scripted sandbox and
// against this machine, owned and borrowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>

#include "client/session_scene.hpp"

namespace client_tests {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Behaviour : public SessionScene {
 protected:
  // Never ends, unless it is cancelled.
  asio::awaitable<void> for_ever() {
    Event never(executor());
    (void)co_await never.wait();
  }
  static Error collection_error() { return {ErrorKind::sandbox, "the artifact is missing", {}}; }
  // The command ends with 3, but all that the exec call tells is its own failure.
  void an_exec_call_fails(Error failure, std::string_view words) {
    sandbox().afterwards["launch"] = [failure](ExecResult& result) {
      result.return_code.reset();
      result.error = failure;
    };
    EXPECT_TRUE(failed(end_of(execute(exits(3))), failure.kind, words));
    ASSERT_TRUE(session().cleanup());
    EXPECT_EQ(session().cleanup()->return_code, 3) << "the receipt answers, not the transport";
    EXPECT_TRUE(is_artifacts(session().artifacts()));
    ASSERT_TRUE(succeeded(end_of(close())));
  }
};
class OwnedBehaviour : public Behaviour {};
class BorrowedBehaviour : public Behaviour {};

INSTANTIATE_TEST_SUITE_P(Session, Behaviour, testing::ValuesIn(kForms), form_name);
INSTANTIATE_TEST_SUITE_P(Session, OwnedBehaviour, testing::ValuesIn(kOwned), form_name);
INSTANTIATE_TEST_SUITE_P(Session, BorrowedBehaviour, testing::ValuesIn(kBorrowed), form_name);

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

TEST_P(Behaviour, N02_ACloseCancelsTheExecCallAfterTheCollectionAndBeforeTheRelease) {
  sandbox().hold("launch");
  const auto executing = execute(runs());
  ASSERT_TRUE(until([&] { return count("launch") == 1; }));
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_TRUE(failed(end_of(executing), ErrorKind::cancelled));
  EXPECT_TRUE(session().cleanup());
  EXPECT_LT(index("stop"), index("collect"));
  EXPECT_LT(index("collect"), index("launch cancelled"));
  EXPECT_LT(index("launch cancelled"), index(owned() ? "end sandbox" : "remove"));
  EXPECT_EQ(count("collect"), 1u);
  EXPECT_EQ(count("stop"), 1u);
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

TEST_P(Behaviour, N05_AnExecCallOfABrokenTransportKeepsReceiptAndArtifacts) {
  an_exec_call_fails({ErrorKind::transport, "the line is dead", {}},
                     "demo sandbox execution failed: transport: the line is dead");
}

TEST_P(Behaviour, N05_AnExecCallThatIsLateKeepsReceiptAndArtifacts) {
  an_exec_call_fails({ErrorKind::timeout, "late", {}},
                     "demo sandbox supervisor exceeded its execution deadline");
}

TEST_P(Behaviour, N05_AnExecCallThatTheSandboxRefusesKeepsReceiptAndArtifacts) {
  an_exec_call_fails({ErrorKind::sandbox, "it is gone", {}},
                     "demo sandbox execution failed: sandbox: it is gone");
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
  const auto executing = execute(exits(0), 60s, local() ? 1s : 200ms);
  EXPECT_TRUE(
      failed(end_of(executing), ErrorKind::timeout, "artifact capture did not end in time"));
  ASSERT_TRUE(session().capture_error());
  EXPECT_EQ(session().capture_error()->kind, ErrorKind::timeout);
  ASSERT_TRUE(session().cleanup());
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_EQ(count("collect"), 1u);
}

// See 9 for owned ones.
TEST_P(BorrowedBehaviour, N08_WithoutEvidenceTheSandboxIsKeptUntilThereIsSome) {
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

TEST_P(Behaviour, N08_BytesThatAreNoReceiptAreNoEvidence) {
  sandbox().afterwards["stop"] = [](ExecResult& result) { result.out = "[]\n"; };
  EXPECT_TRUE(failed(end_of(execute(exits(0))), ErrorKind::unknown, "launch outcome is unknown"));
  sandbox().afterwards.clear();
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_TRUE(session().cleanup());
  EXPECT_EQ(count("collect"), 1u);
}

TEST_P(Behaviour, N08_BytesThatAreNoReceiptAreARefusalIfQuietusSaysSo) {
  sandbox().afterwards["stop"] = [](ExecResult& result) {
    result.return_code = 123;
    result.out = "[]\n";
  };
  EXPECT_TRUE(failed(end_of(execute(exits(0))), ErrorKind::unconfirmed,
                     "cleanup receipt is not a JSON object"));
  sandbox().afterwards.clear();
  ASSERT_TRUE(succeeded(end_of(close())));
  EXPECT_FALSE(session().cleanup());
  EXPECT_EQ(count("collect"), 0u);
}

TEST_P(OwnedBehaviour, N09_WithoutEvidenceTheSandboxIsStopped) {
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

TEST_P(Behaviour, N11_AReceiptWithoutACodeIsNoError) {
  sandbox().afterwards["stop"] = [](ExecResult& result) {
    result.out =
        R"({"cleanup_confirmed": true, "return_code": null, "error": null, "timed_out": false})";
  };
  ASSERT_TRUE(is_artifacts(end_of(execute(exits(1)))));
  ASSERT_TRUE(session().cleanup());
  EXPECT_EQ(session().cleanup()->return_code, std::nullopt);
  EXPECT_EQ(session().exec_return_code(), 1);
  EXPECT_TRUE(warnings.empty());
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

// The page names each of these tests in the row of its number, and no other, and each of them runs
// against both kinds of sandbox.
TEST(Behaviours, AreThoseOfTheDocumentation) {
  std::set<std::string> documented;
  std::istringstream page(harness::read_file(QUIETUS_MATRIX_PAGE));
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ")) continue;
    const std::string number = line.substr(2, line.find(' ', 2) - 2);
    for (std::size_t at = line.find("`N"); at != std::string::npos; at = line.find("`N", at + 1)) {
      const std::string name = line.substr(at + 1, line.find('`', at + 1) - at - 1);
      documented.insert(name);
      EXPECT_EQ(std::stoi(name.substr(1)), std::stoi(number)) << name;
    }
  }
  std::set<std::string> tests;
  std::set<std::string> against;
  std::set<int> numbers;
  const auto* const all = testing::UnitTest::GetInstance();
  for (int suite = 0; suite < all->total_test_suite_count(); ++suite) {
    for (int test = 0; test < all->GetTestSuite(suite)->total_test_count(); ++test) {
      const std::string name = all->GetTestSuite(suite)->GetTestInfo(test)->name();
      const std::size_t slash = name.find('/');
      if (name[0] != 'N' || std::isdigit(name[1]) == 0) continue;
      tests.insert(name.substr(0, slash));
      against.insert(name.substr(0, name.find('_', slash)));
      numbers.insert(std::stoi(name.substr(1)));
    }
  }
  EXPECT_EQ(documented, tests);
  EXPECT_EQ(numbers.size(), 18u);
  for (const std::string& test : tests) {
    EXPECT_TRUE(against.contains(test + "/fake")) << test;
    EXPECT_TRUE(against.contains(test + "/local")) << test;
  }
}

}  // namespace
}  // namespace client_tests
