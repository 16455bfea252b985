#include "contract/receipt.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "harness/receipt_file.hpp"

namespace quietus {
namespace {

// A worker that has ended, with nobody left.
Outcome settled(Ending ending, Cause cause = Cause::exited) {
  Outcome outcome;
  outcome.ending = ending;
  outcome.cause = cause;
  outcome.proof = Proof::no_children_left;
  return outcome;
}

std::string bytes(const Outcome& outcome) { return receipt_json(receipt_of(outcome)); }

TEST(Receipt, APlainSuccessIsEightyBytes) {
  const std::string receipt = bytes(settled(Ending::exited(0)));
  EXPECT_EQ(receipt,
            R"({"cleanup_confirmed": true, "return_code": 0, "error": null, "timed_out": false})");
  EXPECT_EQ(receipt.size(), 80u);
}

TEST(Receipt, NothingIsKnownUntilThereIsEvidence) {
  EXPECT_EQ(
      bytes(Outcome{}),
      R"({"cleanup_confirmed": false, "return_code": null, "error": null, "timed_out": false})");
}

struct Row {
  const char* ending;
  Outcome outcome;
  const char* bytes;
};

Outcome with_error(Outcome outcome, std::string error) {
  outcome.trouble(std::move(error));
  return outcome;
}

Outcome unconfirmed(Outcome outcome) {
  outcome.proof.reset();
  return outcome;
}

// The table of upstream's endings; what differs from it is said in docs/upstream.md.
TEST(Receipt, EveryEndingHasItsBytes) {
  const Row rows[] = {
      {"exits 0", settled(Ending::exited(0)),
       R"({"cleanup_confirmed": true, "return_code": 0, "error": null, "timed_out": false})"},
      {"exits n", settled(Ending::exited(7)),
       R"({"cleanup_confirmed": true, "return_code": 7, "error": null, "timed_out": false})"},
      {"exits 255", settled(Ending::exited(255)),
       R"({"cleanup_confirmed": true, "return_code": 255, "error": null, "timed_out": false})"},
      {"killed by a signal of its own", settled(Ending::signaled(SIGSEGV)),
       R"({"cleanup_confirmed": true, "return_code": -11, "error": null, "timed_out": false})"},
      {"deadline, handles TERM", settled(Ending::exited(3), Cause::deadline),
       R"({"cleanup_confirmed": true, "return_code": 3, "error": null, "timed_out": true})"},
      {"deadline, dies of TERM", settled(Ending::signaled(SIGTERM), Cause::deadline),
       R"({"cleanup_confirmed": true, "return_code": -15, "error": null, "timed_out": true})"},
      {"deadline, ignores TERM", settled(Ending::signaled(SIGKILL), Cause::deadline),
       R"({"cleanup_confirmed": true, "return_code": -9, "error": null, "timed_out": true})"},
      {"expire file", settled(Ending::signaled(SIGTERM), Cause::expire),
       R"({"cleanup_confirmed": true, "return_code": -15, "error": null, "timed_out": true})"},
      {"cancel", settled(Ending::signaled(SIGTERM), Cause::stop),
       R"({"cleanup_confirmed": true, "return_code": -15, "error": null, "timed_out": false})"},
      {"lease", settled(Ending::signaled(SIGTERM), Cause::lease),
       R"({"cleanup_confirmed": true, "return_code": -15, "error": null, "timed_out": false})"},
      {"parent gone", settled(Ending::signaled(SIGTERM), Cause::parent_gone),
       R"({"cleanup_confirmed": true, "return_code": -15, "error": null, "timed_out": false})"},
      {"stop before the launch", settled(Ending::not_started(0), Cause::stop),
       R"({"cleanup_confirmed": true, "return_code": null, "error": null, "timed_out": false})"},
      {"expire before the launch", settled(Ending::not_started(0), Cause::expire),
       R"({"cleanup_confirmed": true, "return_code": null, "error": null, "timed_out": true})"},
      {"spawn fails",
       with_error(settled(Ending::not_started(2), Cause::launch_failed),
                  "[Errno 2] No such file or directory: '/missing/bin'"),
       R"({"cleanup_confirmed": true, "return_code": null, "error": "[Errno 2] No such file or)"
       R"( directory: '/missing/bin'", "timed_out": false})"},
      {"drain deadline passes",
       unconfirmed(with_error(settled(Ending::exited(0)), "cleanup: processes remain alive")),
       R"({"cleanup_confirmed": false, "return_code": 0, "error": "cleanup: processes remain)"
       R"( alive", "timed_out": false})"},
      {"not reapable", unconfirmed(with_error(settled(Ending{}, Cause::deadline), "cleanup: x")),
       R"({"cleanup_confirmed": false, "return_code": null, "error": "cleanup: x",)"
       R"( "timed_out": true})"},
      {"a half killed",
       with_error(settled(Ending::signaled(SIGKILL), Cause::supervisor_killed), "it was killed"),
       R"({"cleanup_confirmed": true, "return_code": -9, "error": "it was killed",)"
       R"( "timed_out": false})"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(bytes(row.outcome), row.bytes) << row.ending;
    std::string why;
    EXPECT_TRUE(harness::ReceiptFile::parse(row.bytes, why)) << row.ending << ": " << why;
  }
}

TEST(Receipt, AnErrorOfAnyBytesKeepsTheForm) {
  const auto receipt =
      bytes(with_error(settled(Ending::exited(0)), "'a\n\"b\\\xFF\xC3\xA9\xF0\x9F\x98\x80'"));
  EXPECT_EQ(receipt, R"({"cleanup_confirmed": true, "return_code": 0, "error": )"
                     R"("'a\n\"b\\\ufffd\u00e9\ud83d\ude00'", "timed_out": false})");
  std::string why;
  EXPECT_TRUE(harness::ReceiptFile::parse(receipt, why)) << why;
}

TEST(Receipt, OnlyAProofConfirms) {
  for (const Proof proof :
       {Proof::no_children_left, Proof::cgroup_unpopulated, Proof::pid_namespace_gone,
        Proof::process_group_empty, Proof::kept_by_policy}) {
    Outcome outcome;
    outcome.proof = proof;
    EXPECT_TRUE(receipt_of(outcome).cleanup_confirmed) << name(proof);
  }
  EXPECT_FALSE(receipt_of(unconfirmed(settled(Ending::exited(0)))).cleanup_confirmed);
}

TEST(Outcome, TheFirstCauseAndTheFirstTroubleWin) {
  Outcome outcome;
  outcome.because(Cause::deadline);
  outcome.because(Cause::stop);
  outcome.trouble("first");
  outcome.trouble("second");
  EXPECT_EQ(outcome.cause, Cause::deadline);
  EXPECT_EQ(outcome.error, "first");
  EXPECT_TRUE(outcome.timed_out());
}

}  // namespace
}  // namespace quietus
