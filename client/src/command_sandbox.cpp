#include "client/src/command_sandbox.hpp"

#include <cerrno>

#include "client/src/words.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

// How long a runtime may take for its own commands.
constexpr Span kClientTime = 60s;
constexpr Span kStopTime = 120s;
constexpr auto kLookAgain = 200ms;

constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

Error invalid(std::string message) { return {ErrorKind::input, std::move(message), {}}; }

std::optional<Error> refuse(const ExecRequest& request) {
  if (request.argv.empty() == request.shell.empty()) {
    return invalid("exec needs either words or text for a shell");
  }
  if (!request.argv.empty() && request.argv.front().empty()) {
    return invalid("exec needs a program: its first word is empty");
  }
  for (const auto& [name, value] : request.environment) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return invalid("'" + name + "' is no name of a variable");
    }
  }
  return std::nullopt;
}

std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of("\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t begin = text.find_last_of("\r\n");
  return std::string(begin == std::string_view::npos ? text : text.substr(begin + 1));
}

}  // namespace

ClientEnd client_end(const ProcessEnd& end) {
  ClientEnd client{.out = end.out, .err = end.err};
  if (end.status && !end.status->signaled) client.code = end.status->code;
  return client;
}

asio::awaitable<ProcessEnd> run_client(HostCommand command, Span deadline) {
  ProcessRequest request{.command = std::move(command), .deadline = after(deadline)};
  co_return co_await run_process(std::move(request));
}

CommandSandbox::CommandSandbox(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)), traits_(transport_->traits()), transfer_(*transport_) {}

asio::awaitable<ExecResult> CommandSandbox::exec(ExecRequest request) {
  co_return co_await guarded(exec_here(std::move(request)));
}

asio::awaitable<ExecResult> CommandSandbox::exec_here(ExecRequest request) {
  ExecResult result;
  result.error = refuse(request);
  if (result.error) co_return result;
  InsideCommand inside{.argv = std::move(request.argv),
                       .cwd = std::move(request.cwd),
                       .environment = std::move(request.environment),
                       .user = std::move(request.user),
                       .reads_stdin = request.input.kind != Input::Kind::nothing};
  if (inside.argv.empty()) inside.argv = words("sh", "-c", std::move(request.shell));
  auto host = transport_->exec(inside);
  if (!host) {
    result.error = host.error();
    co_return result;
  }
  // Started by us without a client between: then a failed start is the command's own, as in a
  // shell.
  const bool direct = host->argv == inside.argv;
  ProcessRequest process{.command = std::move(*host),
                         .input = std::move(request.input),
                         .deadline = after(request.deadline),
                         .output_cap = request.output_cap,
                         .on_output = request.on_output};
  ProcessEnd end = co_await run_process(std::move(process));
  if (direct &&
      (end.spawn_error == ENOENT || end.spawn_error == EACCES || end.spawn_error == ENOEXEC)) {
    result.err = end.error->message + '\n';
    if (request.on_output) request.on_output(OutputStream::err, result.err);
    result.return_code = end.spawn_error == ENOENT ? kNotFound : kNotExecutable;
    co_return result;
  }
  result.error = std::move(end.error);
  if (!result.error && end.status) result.error = transport_->failure(client_end(end));
  if (!result.error && end.status && end.status->signaled && !direct) {
    result.error = Error{
        ErrorKind::transport,
        "'" + inside.argv.front() + "' in '" + name() + "': its client was killed by a signal",
        "only a receipt tells how the command ended"};
  }
  if (end.status && !result.error) result.return_code = end.status->code;
  result.out = std::move(end.out);
  result.err = std::move(end.err);
  result.out_cut = end.out_cut;
  result.err_cut = end.err_cut;
  co_return result;
}

asio::awaitable<Expected<void>> CommandSandbox::upload(std::string local, std::string inside,
                                                       TransferOptions options) {
  co_return co_await guarded(transfer_.upload(std::move(local), std::move(inside), options));
}

asio::awaitable<Expected<void>> CommandSandbox::download(std::string inside, std::string local,
                                                         TransferOptions options) {
  co_return co_await guarded(transfer_.download(std::move(inside), std::move(local), options));
}

asio::awaitable<Expected<SandboxStatus>> CommandSandbox::status() {
  co_return co_await guarded(ask_status());
}

asio::awaitable<Expected<SandboxStatus>> CommandSandbox::ask_status() {
  auto command = transport_->status();
  if (!command) co_return SandboxStatus::running;
  const ProcessEnd end = co_await run_client(std::move(*command), kClientTime);
  if (end.error) co_return fail(*end.error);
  const ClientEnd client = client_end(end);
  const SandboxStatus status = transport_->read_status(client);
  if (status == SandboxStatus::absent && stopped_) co_return SandboxStatus::stopped;
  if (status != SandboxStatus::unknown) co_return status;
  if (auto failure = transport_->failure(client)) co_return fail(std::move(*failure));
  if (client.code == 0) co_return status;
  co_return fail(ErrorKind::transport, "no status of '" + name() + "': " + last_line(end.err));
}

asio::awaitable<Expected<void>> CommandSandbox::stop() { co_return co_await guarded(stop_it()); }

asio::awaitable<Expected<void>> CommandSandbox::stop_it() {
  auto command = transport_->stop();
  if (!command) co_return Expected<void>{};
  const Until deadline = after(kStopTime);
  const ProcessEnd end = co_await run_client(std::move(*command), kStopTime);
  if (end.error) co_return fail(*end.error);
  const ClientEnd client = client_end(end);
  const bool gone = transport_->is_gone(client);
  if (client.code != 0 && !gone) {
    co_return fail(ErrorKind::sandbox, "cannot stop '" + name() + "': " + last_line(end.err),
                   "repeat it, or stop it by hand");
  }
  // Some runtimes only take note of the wish.
  while (!gone) {
    const auto status = co_await ask_status();
    const bool ended =
        status && (*status == SandboxStatus::stopped || *status == SandboxStatus::absent);
    if (ended) break;
    if (!status && status.error().kind == ErrorKind::cancelled) co_return fail(status.error());
    if (!transport_->status()) break;
    if (Clock::now() >= deadline) {
      co_return fail(ErrorKind::timeout, "'" + name() + "' was asked to stop, and still runs",
                     "repeat it, or stop it by hand");
    }
    Event pause(co_await asio::this_coro::executor);
    (void)co_await pause.wait(Clock::now() + kLookAgain);
    const bool cancelled = co_await is_cancelled();
    if (cancelled) co_return fail(ErrorKind::cancelled, "the stop was cancelled");
  }
  stopped_ = true;
  co_return Expected<void>{};
}

asio::awaitable<Expected<void>> CommandSandbox::disconnect() {
  co_return co_await guarded(let_go());
}

asio::awaitable<Expected<void>> CommandSandbox::let_go() {
  auto command = transport_->disconnect();
  if (!command) co_return Expected<void>{};
  const ProcessEnd end = co_await run_client(std::move(*command), kClientTime);
  if (end.error) co_return fail(*end.error);
  const ClientEnd client = client_end(end);
  if (client.code == 0 || transport_->is_gone(client)) co_return Expected<void>{};
  co_return fail(ErrorKind::transport, "cannot let go of '" + name() + "': " + last_line(end.err));
}

}  // namespace quietus
