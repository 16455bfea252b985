// The files of a session directory: the protocol between a controller, which can only run commands
// and copy files, and the supervisor. Names are a contract (upstream's clients know them).
#pragma once

namespace quietus {

struct SessionFiles {
  // A symlink whose target text is `launch` or `stop`; made once, never replaced: the first wins.
  const char* claim = "launch.claim";
  // The guardian's pid and a newline; written by launch after the claim.
  const char* pid = "supervisor.pid";
  // Who supervises, as JSON; written by the supervisor before the worker starts.
  const char* identity = "supervisor.id";
  // Asks for the end; made by stop, or by whoever cannot run stop.
  const char* stop = "stop.request";
  // The end without the grace; made by stop --now.
  const char* kill = "kill.request";
  // The deadline has come; made by expire.
  const char* expire = "expire.request";
  // Touched by renew; launch --lease stops without it.
  const char* lease = "lease.renew";
  // The receipt, by the supervisor; or by stop, when it fenced or recovered the session.
  const char* receipt = "cleanup.json";
  const char* report = "report.json";
  // stdout and stderr of the worker.
  const char* output = "output.log";
};

inline constexpr SessionFiles kSessionFiles{};

// The names of upstream's first versions (--legacy-names).
inline constexpr SessionFiles kLegacySessionFiles{
    .pid = "runner.pid", .stop = "runner.stop", .output = "runner.log"};

inline constexpr const char* kClaimedByLaunch = "launch";
inline constexpr const char* kClaimedByStop = "stop";

// What a session directory is renamed to before it is deleted.
inline constexpr const char* kRetiredSuffix = ".closed";

}  // namespace quietus
