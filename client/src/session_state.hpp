// What a session knows, shared by the coroutines that do its parts. See session.hpp for the rules,
// docs/controller.md for the table of states.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/src/task.hpp"
#include "quietus/session.hpp"

namespace quietus {

struct Session::State {
  asio::any_io_executor executor;
  std::shared_ptr<Sandbox> sandbox;
  SessionOptions options;

  // The hooks are coroutines that read their captures here, as long as they run.
  Stage stage_hook = {};
  Collect collect_hook = {};

  // The four parts. Stage and exec happen once; the others again when they have failed.
  std::shared_ptr<Task<Expected<SessionCommand>>> stage = {};
  std::shared_ptr<Task<ExecResult>> exec = {};
  std::shared_ptr<Task<Expected<void>>> finalize = {};
  std::shared_ptr<Task<Expected<void>>> close = {};
  int close_waiters = 0;

  std::string supervisor = {};
  bool activated = false;
  bool placing = false;  // from here on something of ours may stand in the sandbox
  bool launch_started = false;
  bool interrupted = false;  // the end was asked for before the exec call had returned
  bool collect_attempted = false;
  bool sandbox_stopped = false;
  bool directory_removed = false;
  bool closing = false;

  std::optional<int> exec_return_code = {};
  std::optional<Receipt> cleanup = {};
  std::optional<Receipt> refused = {};
  std::optional<Error> refusal = {};
  Artifacts artifacts = {};
  std::optional<Error> capture_error = {};

  [[nodiscard]] bool owned() const { return options.ownership == Ownership::owned; }
  [[nodiscard]] std::string text(std::string_view rest) const {
    return options.harness + ' ' + std::string(rest);
  }
  void warn(std::string_view what) const {
    if (options.warn) options.warn(text(what));
  }
};

}  // namespace quietus
