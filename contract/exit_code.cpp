#include "contract/exit_code.hpp"

#include <cerrno>

namespace quietus {
namespace {

int launch_failure(const Outcome& outcome) {
  if (!outcome.exec_refused) return kExitFailed;
  return outcome.ending.value == ENOENT ? kExitNotFound : kExitNotExecutable;
}

}  // namespace

int bare_exit_code(const Outcome& outcome, Records records) {
  const bool clean = outcome.proof && !outcome.error && records == Records::written;
  return clean ? kExitSuccess : kExitTrouble;
}

int run_exit_code(const Outcome& outcome, Records records) {
  if (!outcome.proof) return kExitNotConfirmed;
  if (records == Records::missing) return kExitFailed;
  if (outcome.cause == Cause::launch_failed) return launch_failure(outcome);
  if (outcome.error) return kExitFailed;
  switch (outcome.cause) {
    case Cause::deadline:
    case Cause::expire: return kExitTimedOut;
    case Cause::stop:
    case Cause::lease:
    case Cause::parent_gone: return kExitStopped;
    default: break;
  }
  switch (outcome.ending.kind) {
    case Ending::Kind::exited: return outcome.ending.value;
    case Ending::Kind::signaled: return kExitSignalBase + outcome.ending.value;
    default: return kExitFailed;
  }
}

}  // namespace quietus
