// One supervised command in one sandbox: stage, launch, confirm the end, collect, release. The
// rules (docs/controller.md) in short:
//
//   - A verdict needs a receipt; no exit code of a transport is one. Whatever becomes of the exec
//     call, the end is confirmed by `quietus stop`, which also ends what still runs.
//   - It executes once. It collects at most once, and only after confirmation. It confirms before
//     it cancels the exec call.
//   - close() can be repeated until it succeeds, and joined; what was done is not done again.
//   - A final receipt that does not confirm is terminal: nothing is collected; a borrowed sandbox
//     is let go of (and its session directory kept), an owned one is stopped.
//
//     Session session(co_await asio::this_coro::executor, sandbox, options);
//     auto artifacts = co_await session.execute(stage, collect, 10min, 30s);
//     auto closed = co_await session.close(30s);  // again while it fails
#pragma once

#include <any>
#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/receipt.hpp"
#include "quietus/connect.hpp"
#include "quietus/error.hpp"
#include "quietus/payload.hpp"
#include "quietus/sandbox.hpp"
#include "quietus/session_status.hpp"
#include "quietus/timeouts.hpp"

namespace quietus {

enum class Shield {
  by_ownership,
  off,
  attempt,
  required
};  // by_ownership: owned attempt, else off
// What ends with the command; see quietus run --help. Where something may stay the log has no
// limit.
enum class Descendants { tree, group, keep_on_success };
enum class Lease { by_transport, none, standard_input };

struct SessionOptions {
  // In the sandbox; absolute, fresh, outside the task's workdir: see fresh_session_directory().
  std::string directory;
  // Where the command runs; empty: where the sandbox puts it.
  std::string workdir = {};
  // Stands before every error text.
  std::string harness = "command";
  Ownership ownership = Ownership::borrowed;
  std::shared_ptr<PayloadSource> payload;
  Shield shield = Shield::by_ownership;
  Lease lease = Lease::by_transport;
  Descendants descendants = Descendants::tree;
  // Bytes of output.log, half from its beginning and half from its end.
  std::uint64_t output_limit = std::uint64_t{64} << 20;
  // More options for `quietus launch`, as they stand on its command line.
  std::vector<std::string> launch_options = {};
  // Added to what each wait for a stop is given.
  Span stop_margin = kStopMargin;
  // Gets each warning, one line without an end; empty: nobody.
  std::function<void(std::string_view)> warn = {};
};

// "/tmp/quietus-" and 128 random bits. `parent` is absolute.
std::string fresh_session_directory(std::string_view parent = "/tmp");

// What stage says shall be launched.
struct SessionCommand {
  std::vector<std::string> argv;
  std::vector<EnvironmentEntry> environment = {};
};

// Opaque to the session; whoever collects knows what it is. Empty is valid.
using Artifacts = std::any;
// Both run on the session's executor and should honour cancellation: who does not is waited for as
// long as the session's deadlines say, and then left behind with an error.
using Stage = std::function<asio::awaitable<Expected<SessionCommand>>()>;
using Collect = std::function<asio::awaitable<Expected<Artifacts>>()>;

class Session {
 public:
  Session(asio::any_io_executor executor, std::shared_ptr<Sandbox> sandbox, SessionOptions options);
  // What still runs goes on unwatched, without this object: close first.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Once. `timeout` is the command's deadline (kForever: none); close_timeout bounds its cleanup
  // and each of our own steps. Returns what was collected, or the first error: of the staging, of
  // the exec call (timeout, transport, sandbox), of the confirmation (unknown, unconfirmed), of the
  // collection. A command that fails, or is ended by its deadline, is no error: see cleanup().
  // Cancelling it stops the command, confirms and collects; then the error is `cancelled`.
  asio::awaitable<Expected<Artifacts>> execute(Stage stage, Collect collect, Span timeout,
                                               Span close_timeout);

  // Ends, confirms, collects what was not yet, and releases: an owned sandbox is stopped, a
  // borrowed one loses the session directory and is disconnected. Joins a close that runs; its
  // time-out counts then. Cancelling one of several waiters changes nothing for the others;
  // cancelling the only one cancels the close, which can be repeated.
  asio::awaitable<Expected<void>> close(Span timeout);

  // Ends the command as its deadline would; execute() then returns as usual.
  asio::awaitable<Expected<void>> expire(Span timeout);

  // What `quietus status` says: state, age, processes. Changes nothing.
  asio::awaitable<Expected<SessionStatus>> status(Span timeout);

  // The end of output.log, at most `most_bytes`. Empty, with a warning, where it cannot be read: a
  // missing log must not hide the real error.
  asio::awaitable<std::string> read_output_log(std::uint64_t most_bytes = std::uint64_t{1} << 20);

  [[nodiscard]] const std::string& directory() const;
  [[nodiscard]] Sandbox& sandbox() const;
  // The supervisor's path inside, once it is placed.
  [[nodiscard]] const std::string& supervisor() const;
  // DIR/stop.request: whoever can make this file inside ends the command.
  [[nodiscard]] std::string stop_request_path() const;

  [[nodiscard]] bool launch_started() const;
  // The receipt, once it is final and confirms.
  [[nodiscard]] const std::optional<Receipt>& cleanup() const;
  // A receipt that is final and does not confirm.
  [[nodiscard]] const std::optional<Receipt>& refused_cleanup() const;
  [[nodiscard]] const Artifacts& artifacts() const;
  // Why nothing, or not all, was collected.
  [[nodiscard]] const std::optional<Error>& capture_error() const;
  // Of the launch's exec call; a hint only.
  [[nodiscard]] std::optional<int> exec_return_code() const;
  [[nodiscard]] bool sandbox_stopped() const;
  [[nodiscard]] bool closing() const;  // a close was asked for, also one that failed
  [[nodiscard]] bool closed() const;

  // The parts of a session; defined in src/, shared with what still runs.
  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace quietus
