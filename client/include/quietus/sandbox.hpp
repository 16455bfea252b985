// A place in which commands run and files lie: what a session needs of it, and all that it needs.
// open_sandbox (connect.hpp) makes real ones; a test may script one.
//
// Threads: an object is used from one executor that runs nothing in parallel (an io_context run by
// one thread, or a strand). Different executors may run in different threads.
//
// Cancellation: every operation can be cancelled through Asio's cancellation slots (terminal, as
// co_spawn passes it on by default). It then ends what it started, waits for that, and returns an
// error of kind `cancelled`. A coroutine that has been cancelled itself sees Asio's own rule: its
// next co_await throws operation_aborted, unless it has awaited
// this_coro::throw_if_cancelled(false).
//
// With g++ 12 build a request in a variable and move it in. Inside a co_await expression,
// `co_await sandbox.exec({.shell = "..."})`, that compiler frees the members of such a temporary
// twice; no library can prevent it.
#pragma once

#include <asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/time.hpp"
#include "quietus/error.hpp"

namespace quietus {

// What the way into a sandbox can be trusted with. Each answers a question of the session.
struct Traits {
  // The exit code that comes back is the command's own. (An exec client that is killed may say 0.)
  bool exit_code_is_the_commands = false;
  // A signal to the client reaches the command.
  bool passes_signals = false;
  // The end of the client's standard input, also by its death, is an end of file inside: then a
  // launch can hang on it (--lease stdin).
  bool passes_stdin_end = false;
  // The command goes on when its client dies.
  bool outlives_client = false;
  // Standard input arrives at all. Without it files travel in command lines, slowly.
  bool carries_stdin = true;
  // A path means the same file here and there.
  bool shares_files = false;
  // What was written inside is still there after stop() (a job of a cluster, this machine): then an
  // owner removes the session directory before.
  bool files_outlive_stop = false;
  // Where the supervisor stands already (mounted by whoever made the sandbox); empty: nowhere.
  std::string payload = {};
};

using EnvironmentEntry = std::pair<std::string, std::string>;

enum class OutputStream { out, err };

// Standard input of a command.
struct Input {
  enum class Kind {
    nothing,  // end of file at once
    text,
    file,  // a local file, from its beginning
    held,  // nothing comes, and no end of file until the exec call is over: a lifeline
  };
  Kind kind = Kind::nothing;
  std::string value = {};  // the text, or the path

  static Input text(std::string bytes) { return {Kind::text, std::move(bytes)}; }
  static Input file(std::string path) { return {Kind::file, std::move(path)}; }
  static Input held() { return {Kind::held}; }
};

inline constexpr Span kDefaultExecDeadline = std::chrono::seconds(180);
inline constexpr std::size_t kDefaultOutputCap = std::size_t{10} << 20;

struct ExecRequest {
  // Exactly one of the two. Text is for `sh -c`, which the sandbox must have.
  std::vector<std::string> argv = {};
  std::string shell = {};
  // Empty: the sandbox's own working directory.
  std::string cwd = {};
  // Added to the sandbox's environment.
  std::vector<EnvironmentEntry> environment = {};
  // Name or UID[:GID]; empty: the sandbox's own. Transports that cannot change it refuse (input).
  std::string user = {};
  Input input = {};
  // From the call on; kForever: none.
  Span deadline = kDefaultExecDeadline;
  // Bytes kept of each stream, from its beginning; what is beyond is read and dropped.
  std::size_t output_cap = kDefaultOutputCap;
  // Called with each piece as it comes, before the cap; may be empty.
  std::function<void(OutputStream, std::string_view)> on_output = {};
};

struct ExecResult {
  // Whatever has come, also when there is an error.
  std::string out = {};
  std::string err = {};
  bool out_cut = false;  // there was more than the cap
  bool err_cut = false;
  // As a shell says it: 0..255, 128 + n for death by signal n. None when it is not known.
  std::optional<int> return_code = {};
  // timeout, transport, sandbox, input or cancelled. A command that fails is no error. A timeout
  // does not say that the command has ended: only a receipt says that.
  std::optional<Error> error = {};

  [[nodiscard]] bool succeeded() const { return !error && return_code == 0; }
};

struct TransferOptions {
  // More than this is an error (input), and nothing stands at the destination. For trees: the sum.
  std::optional<std::uint64_t> most_bytes = {};
  // Bound of the whole transfer; kForever: none.
  Span deadline = std::chrono::minutes(30);
  // Permission bits of an uploaded file; none: those of the local file.
  std::optional<unsigned> mode = {};
  // Missing parents of an uploaded file get mode 0700 instead of the umask's.
  bool private_parents = false;
};

// absent: there is none of that name, or none any more.
enum class SandboxStatus { unknown, starting, running, stopped, absent, error };
std::string_view name(SandboxStatus status);

class Sandbox {
 public:
  Sandbox() = default;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  virtual ~Sandbox() = default;

  // As on the command line: "podman:web".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual const Traits& traits() const = 0;

  virtual asio::awaitable<ExecResult> exec(ExecRequest request) = 0;

  // A regular file, or a tree where the source is a directory. Paths inside are absolute. Missing
  // parents of the destination are made. Streams through a bounded buffer. The destination appears
  // whole or not at all, under its name only when it is complete (where the inside has no shell, as
  // far as the transport's own copy allows); a transfer that was cut is an error of kind transport.
  // A file replaces a file; a tree does not replace anything (input).
  virtual asio::awaitable<Expected<void>> upload(std::string local, std::string inside,
                                                 TransferOptions options) = 0;
  virtual asio::awaitable<Expected<void>> download(std::string inside, std::string local,
                                                   TransferOptions options) = 0;

  virtual asio::awaitable<Expected<SandboxStatus>> status() = 0;
  // Ends the sandbox itself, with all that runs in it. Only an owner does that. May be repeated; it
  // succeeds only once the runtime has said that the sandbox is gone.
  virtual asio::awaitable<Expected<void>> stop() = 0;
  // Lets go of it and leaves it running. May be repeated.
  virtual asio::awaitable<Expected<void>> disconnect() = 0;
};

// Small texts, which travel as files and never through a command line.
asio::awaitable<Expected<void>> upload_text(Sandbox& sandbox, std::string text, std::string inside,
                                            TransferOptions options = {});
// At most `most_bytes`, else an error (input). The bytes as they are.
asio::awaitable<Expected<std::string>> download_text(Sandbox& sandbox, std::string inside,
                                                     std::uint64_t most_bytes);

}  // namespace quietus
