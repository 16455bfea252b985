#include "contract/exit_code.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace quietus {
namespace {

Outcome ended(Ending ending, Cause cause = Cause::exited) {
  Outcome outcome;
  outcome.ending = ending;
  outcome.cause = cause;
  outcome.proof = Proof::no_children_left;
  return outcome;
}

Outcome not_launched(int error, bool exec_refused) {
  Outcome outcome = ended(Ending::not_started(error), Cause::launch_failed);
  outcome.exec_refused = exec_refused;
  outcome.trouble("why");
  return outcome;
}

constexpr Cause kCauses[] = {Cause::unknown,     Cause::exited,        Cause::deadline,
                             Cause::stop,        Cause::expire,        Cause::lease,
                             Cause::parent_gone, Cause::launch_failed, Cause::supervisor_killed};

TEST(ExitCode, OfRunIsTheWorkersOwn) {
  for (const int code : {0, 1, 2, 42, 121, 125, 127, 255}) {
    EXPECT_EQ(run_exit_code(ended(Ending::exited(code)), Records::written), code);
  }
  EXPECT_EQ(run_exit_code(ended(Ending::signaled(SIGTERM)), Records::written), 128 + SIGTERM);
  EXPECT_EQ(run_exit_code(ended(Ending::signaled(SIGKILL)), Records::written), 128 + SIGKILL);
}

TEST(ExitCode, OfRunTellsWhatEndedTheWorker) {
  const Ending killed = Ending::signaled(SIGKILL);
  EXPECT_EQ(run_exit_code(ended(killed, Cause::deadline), Records::written), 124);
  EXPECT_EQ(run_exit_code(ended(killed, Cause::expire), Records::written), 124);
  EXPECT_EQ(run_exit_code(ended(killed, Cause::stop), Records::written), 122);
  EXPECT_EQ(run_exit_code(ended(killed, Cause::lease), Records::written), 122);
  EXPECT_EQ(run_exit_code(ended(killed, Cause::parent_gone), Records::written), 122);
  // Also where it went by itself in the grace.
  EXPECT_EQ(run_exit_code(ended(Ending::exited(0), Cause::deadline), Records::written), 124);
  EXPECT_EQ(run_exit_code(ended(Ending::not_started(0), Cause::stop), Records::written), 122);
}

TEST(ExitCode, OfRunTellsWhyNothingRan) {
  EXPECT_EQ(run_exit_code(not_launched(ENOENT, true), Records::written), 127);
  EXPECT_EQ(run_exit_code(not_launched(EACCES, true), Records::written), 126);
  EXPECT_EQ(run_exit_code(not_launched(ENOEXEC, true), Records::written), 126);
  EXPECT_EQ(run_exit_code(not_launched(ENOENT, false), Records::written), 125);
  EXPECT_EQ(run_exit_code(not_launched(EPERM, false), Records::written), 125);
}

TEST(ExitCode, NotConfirmedWinsOverAll) {
  for (const Cause cause : kCauses) {
    for (const Records records : {Records::written, Records::missing}) {
      Outcome outcome = ended(Ending::exited(0), cause);
      outcome.exec_refused = true;
      outcome.trouble("why");
      outcome.proof.reset();
      EXPECT_EQ(run_exit_code(outcome, records), 123) << name(cause);
    }
  }
}

// Found by the fault sweep: 126 and 127 hid that there was no receipt.
TEST(ExitCode, AMissingRecordIsTold) {
  for (const Cause cause : kCauses) {
    Outcome outcome = ended(Ending::exited(0), cause);
    outcome.exec_refused = true;
    EXPECT_EQ(run_exit_code(outcome, Records::missing), 125) << name(cause);
    EXPECT_EQ(bare_exit_code(outcome, Records::missing), 1) << name(cause);
  }
}

TEST(ExitCode, TroubleOfOursIsTold) {
  Outcome outcome = ended(Ending::exited(0));
  outcome.trouble("why");
  EXPECT_EQ(run_exit_code(outcome, Records::written), 125);
  EXPECT_EQ(run_exit_code(ended(Ending{}), Records::written), 125);  // an end that nobody saw
}

TEST(ExitCode, OfTheBareFormSaysNothingOfTheWorker) {
  for (const Cause cause : kCauses) {
    for (const Ending ending : {Ending::exited(0), Ending::exited(7), Ending::signaled(SIGKILL),
                                Ending::not_started(0), Ending{}}) {
      Outcome outcome = ended(ending, cause);
      EXPECT_EQ(bare_exit_code(outcome, Records::written), 0) << name(cause);
      outcome.trouble("why");
      EXPECT_EQ(bare_exit_code(outcome, Records::written), 1) << name(cause);
      outcome.error.reset();
      outcome.proof.reset();
      EXPECT_EQ(bare_exit_code(outcome, Records::written), 1) << name(cause);
    }
  }
}

}  // namespace
}  // namespace quietus
