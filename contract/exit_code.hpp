// Exit codes: the one table. Neighbours taught them: timeout(1), env(1), docker-run(1), the shell.
#pragma once

#include "contract/outcome.hpp"

namespace quietus {

enum ExitCode : int {
  kExitSuccess = 0,
  kExitTrouble = 1,  // bare form: not confirmed, or an error
  kExitUsage = 2,
  kExitNothingStarted = 121,  // launch: fenced, already claimed, directory gone
  kExitStopped = 122,         // stopped on request
  kExitNotConfirmed = 123,    // cleanup not confirmed: wins over all
  kExitTimedOut = 124,
  kExitFailed = 125,  // quietus itself failed, a half was lost, or a record was not written
  kExitNotExecutable = 126,
  kExitNotFound = 127,
  kExitSignalBase = 128,  // 128 + n: the worker died of signal n
};

// Whether what was asked for (receipt, report) stands on disk.
enum class Records { written, missing };

// Bare form: 0 when confirmed, without error and recorded; else 1.
int bare_exit_code(const Outcome& outcome, Records records);

// run and launch.
int run_exit_code(const Outcome& outcome, Records records);

}  // namespace quietus
