#include "quietus/session.hpp"

#include "client/src/launch_words.hpp"
#include "client/src/random_token.hpp"
#include "client/src/session_state.hpp"
#include "client/src/texts.hpp"
#include "client/src/words.hpp"
#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "contract/receipt_parse.hpp"
#include "contract/session_files.hpp"
#include "quietus/receipt_check.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;
using State = Session::State;
using Held = std::shared_ptr<State>;
using Step = Expected<void>;

constexpr Span kVerbTime = 60s;
constexpr int kUsage = kExitUsage;
constexpr int kNotConfirmed = kExitNotConfirmed;
constexpr int kNotExecutable = kExitNotExecutable;
constexpr int kNotFound = kExitNotFound;
// A log may be longer than its limit by the line that tells what was left out.
constexpr std::uint64_t kLogSlack = std::uint64_t{1} << 20;

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \r\n\t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \r\n\t") - begin + 1));
}

// The work's result, or `late` when it does not come in time. Late or cancelled, the work is
// cancelled, and waited for as long again; who does not honour that is left behind.
template <class T>
asio::awaitable<T> within(Held session, Span limit, asio::awaitable<T> work, T late) {
  const auto task = Task<T>::start(session->executor, std::move(work));
  const bool in_time = co_await task->wait(after(limit));
  if (in_time) co_return std::move(task->result());
  const bool cancelled = co_await is_cancelled();
  if (cancelled) co_await leave_in_peace();
  task->cancel();
  const bool ended = co_await task->wait(after(limit));
  // Whoever cancelled is told so by the work itself.
  if (cancelled && ended) co_return std::move(task->result());
  co_return late;
}

Error late_error(const State& session, std::string_view what) {
  return {ErrorKind::timeout, session.text(what), "give it more time, and repeat the close"};
}

asio::awaitable<Expected<Artifacts>> call_collect(Held session) {
  co_return co_await session->collect_hook();
}

asio::awaitable<ExecResult> verb(Held session, const char* word, std::vector<std::string> more,
                                 Span deadline) {
  ExecRequest request{
      .argv = verb_words(session->supervisor, word, session->options.directory, more),
      .deadline = deadline};
  co_return co_await session->sandbox->exec(std::move(request));
}

// Why a verb of ours did not do its work.
Error verb_error(const ExecResult& result, std::string message) {
  const std::string said = trimmed(result.err);
  ErrorKind kind = ErrorKind::sandbox;
  if (result.error) kind = result.error->kind;
  if (!result.error && result.return_code) {
    message += " (exit " + decimal(*result.return_code) + ')';
  }
  if (!said.empty()) message += ": " + said;
  Error error{kind, std::move(message), {}};
  if (result.error) error = std::move(error).because(*result.error);
  return error;
}

// Stage: the caller's hook, then what we need ourselves.

asio::awaitable<Expected<SessionCommand>> stage_all(Held session) {
  auto command = co_await session->stage_hook();
  if (!command) co_return command;
  const bool cancelled = co_await is_cancelled();
  if (cancelled) {
    co_return fail(ErrorKind::cancelled, session->text("staging was cancelled"));
  }
  if (command->argv.empty()) {
    co_return fail(ErrorKind::input, session->text("has no command to run"));
  }
  const Traits& traits = session->sandbox->traits();
  session->placing = !traits.shares_files && traits.payload.empty();  // else nothing is sent
  auto placed =
      co_await session->options.payload->place(*session->sandbox, session->options.directory);
  if (!placed) co_return fail(placed.error());
  session->supervisor = *placed;
  session->placing = true;
  const ExecResult created = co_await verb(session, "create", words(), kVerbTime);
  if (!created.succeeded()) {
    co_return fail(verb_error(created, session->text("sandbox session could not be created")));
  }
  co_return command;
}

// Finalize.

// What `quietus stop` has printed is the evidence; its exit code decides only about bytes that are
// no receipt at all.
Step judge(Held session, const ExecResult& result) {
  const std::string text = trimmed(result.out);
  const bool is_object = text.starts_with('{');
  if (!is_object && (text.empty() || result.return_code != kNotConfirmed)) {
    const bool late = result.error && result.error->kind == ErrorKind::timeout;
    Error error = verb_error(result, session->text(late ? "launch outcome is unknown; cleanup "
                                                          "deadline exceeded"
                                                        : "launch outcome is unknown; cannot "
                                                          "confirm termination"));
    error.kind = ErrorKind::unknown;
    error.advice = "close again";
    return fail(std::move(error));
  }
  const auto checked = check_receipt(text, session->options.harness);
  if (checked) {
    if (!checked->strict) session->warn(kReceiptFieldsDropped);
    session->cleanup = checked->receipt;
    return {};
  }
  // Cut off in the middle it is no evidence: the next stop prints it again.
  if (is_object && !text.ends_with('}')) {
    return fail(ErrorKind::unknown,
                session->text("launch outcome is unknown; cannot confirm termination"),
                "close again");
  }
  const auto parsed = parse_receipt(text);
  session->refused = parsed ? parsed->receipt : Receipt{};
  session->refusal = checked.error();
  return fail(checked.error());
}

asio::awaitable<Step> confirm(Held session, Span limit) {
  const StopTimeouts timeouts = stop_timeouts(limit, session->options.stop_margin);
  std::vector<std::string> more = words("--timeout", seconds_text(timeouts.inside));
  ExecResult late;
  late.error = late_error(*session, "quietus stop did not return");
  const ExecResult result =
      co_await within(session, timeouts.exec + session->options.stop_margin,
                      verb(session, "stop", std::move(more), timeouts.exec), std::move(late));
  co_return judge(session, result);
}

asio::awaitable<void> collect(Held session, Span limit) {
  if (session->sandbox_stopped) {
    session->capture_error =
        Error{ErrorKind::sandbox, session->text("sandbox stopped before artifact capture"), {}};
    co_return;
  }
  Expected<Artifacts> late = fail(late_error(*session, "artifact capture did not end in time"));
  auto collected = co_await within(session, limit, call_collect(session), std::move(late));
  session->collect_attempted = true;
  if (collected) {
    session->artifacts = std::move(*collected);
    session->capture_error.reset();
  } else {
    session->capture_error = collected.error();
    session->warn("artifact capture failed: " + collected.error().text());
  }
}

asio::awaitable<Step> release_exec(Held session, Span limit) {
  if (!session->exec || session->exec->done()) co_return Step{};
  session->exec->cancel();
  const bool ended = co_await session->exec->wait(after(limit));
  if (ended) co_return Step{};
  co_return fail(late_error(*session, "exec call did not end in time"));
}

asio::awaitable<Step> finalize_all(Held session, Span limit) {
  if (session->stage && !session->stage->done()) {
    session->stage->cancel();
    const bool staged = co_await session->stage->wait(after(limit));
    if (!staged) {
      co_return fail(late_error(*session, "staging did not end in time"));
    }
  }
  if (session->launch_started && !session->sandbox_stopped && !session->cleanup) {
    if (session->refusal) co_return fail(*session->refusal);
    if (!session->exec->done()) session->interrupted = true;
    const Step confirmed = co_await confirm(session, limit);
    if (!confirmed) co_return confirmed;
  }
  if (session->launch_started && !session->collect_attempted) co_await collect(session, limit);
  if (session->cleanup || session->sandbox_stopped) {
    co_return co_await release_exec(session, limit);
  }
  co_return Step{};
}

bool must_start(const std::shared_ptr<Task<Step>>& task) {
  return !task || (task->done() && !task->result());
}

// Starts it, or joins the one that runs. Losing a waiter stops nothing.
asio::awaitable<Step> finalize(Held session, Span limit) {
  if (must_start(session->finalize)) {
    session->finalize = Task<Step>::start(session->executor, finalize_all(session, limit));
  }
  const auto task = session->finalize;
  const bool over = co_await task->wait();
  if (over) co_return task->result();
  co_return fail(ErrorKind::cancelled, session->text("cleanup goes on unwatched"), "close it");
}

// Execute.

ExecRequest launch_request(const State& session, const SessionCommand& command, Span timeout,
                           Span close_timeout) {
  const Traits& traits = session.sandbox->traits();
  const SupervisionTimeouts timeouts = supervision_timeouts(timeout, close_timeout);
  ExecRequest request{.argv = launch_words(session.supervisor, session.options, traits, command,
                                           timeout, timeouts.cleanup),
                      .deadline = timeouts.exec};
  if (uses_lease(session.options, traits)) request.input = Input::held();
  return request;
}

Error exec_error(const State& session, const ExecResult& result) {
  const Error& below = *result.error;
  const std::string said = trimmed(result.err);
  Error error{below.kind, {}, {}};
  if (below.kind == ErrorKind::timeout) {
    error.message = session.text("sandbox supervisor exceeded its execution deadline");
  } else {
    error.message = session.text("sandbox execution failed: ") + std::string(name(below.kind)) +
                    ": " + (said.empty() ? below.message : said);
  }
  return std::move(error).because(below);
}

// How the launch went; none: as far as the exec call can tell, well.
asio::awaitable<std::optional<Error>> run(Held session, Span timeout, Span close_timeout) {
  const Error cancelled{ErrorKind::cancelled, session->text("execution was cancelled"), {}};
  const bool stage_over = co_await session->stage->wait();
  if (!stage_over) co_return cancelled;
  const auto& staged = session->stage->result();
  if (!staged) co_return staged.error();
  if (session->closing || session->finalize) {
    co_return Error{ErrorKind::state, session->text("sandbox session closed before launch"), {}};
  }
  session->launch_started = true;
  session->exec = Task<ExecResult>::start(
      session->executor,
      session->sandbox->exec(launch_request(*session, *staged, timeout, close_timeout)));
  const bool exec_over = co_await session->exec->wait();
  if (!exec_over) co_return cancelled;
  const ExecResult& result = session->exec->result();
  session->exec_return_code = result.return_code;
  if (session->interrupted) {
    co_return Error{
        ErrorKind::cancelled, session->text("sandbox session was closed while it ran"), {}};
  }
  if (result.error) co_return exec_error(*session, result);
  co_return std::nullopt;
}

asio::awaitable<Expected<Artifacts>> execute_all(Held session, Stage stage, Collect collect,
                                                 Span timeout, Span close_timeout) {
  if (session->closing || session->activated) {
    co_return fail(ErrorKind::state,
                   session->text("sandbox session is closing or already activated"),
                   "make a new session for each execution");
  }
  session->activated = true;
  session->stage_hook = std::move(stage);
  session->collect_hook = std::move(collect);
  session->stage = Task<Expected<SessionCommand>>::start(session->executor, stage_all(session));
  const auto failure = co_await run(session, timeout, close_timeout);
  if (failure) {
    // A second cancellation ends our waiting; the cleanup itself goes on.
    co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
    const Step finalized = co_await finalize(session, close_timeout);
    if (!finalized) session->warn("cleanup remains unconfirmed; close must retry");
    co_return fail(*failure);
  }
  const Step finalized = co_await finalize(session, close_timeout);
  if (!finalized) co_return fail(finalized.error());
  // It never was a launch: the command line was refused.
  if (session->exec_return_code == kUsage && session->cleanup && !session->cleanup->return_code) {
    Error error = verb_error(session->exec->result(), session->text("sandbox execution failed"));
    error.kind = ErrorKind::input;
    co_return fail(std::move(error));
  }
  if (!session->capture_error) co_return session->artifacts;
  if (session->exec_return_code.value_or(0) != 0) {
    Error error = verb_error(session->exec->result(), session->text("sandbox execution failed"));
    co_return fail(std::move(error).because(*session->capture_error));
  }
  co_return fail(*session->capture_error);
}

// Close.

asio::awaitable<Step> remove_directory(Held session) {
  if (session->supervisor.empty()) {
    auto placed =
        co_await session->options.payload->place(*session->sandbox, session->options.directory);
    if (!placed) co_return fail(placed.error());
    session->supervisor = *placed;
  }
  const ExecResult result = co_await verb(session, "remove", words(), kVerbTime);
  if (result.succeeded()) co_return Step{};
  // The supervisor may lie in what was half removed: the next attempt begins by placing it.
  if (result.error || result.return_code == kNotExecutable || result.return_code == kNotFound) {
    session->supervisor.clear();
  }
  Error error =
      verb_error(result, "Could not remove " + session->options.harness + " session files");
  error.advice = "close again";
  co_return fail(std::move(error));
}

asio::awaitable<Step> remove_once(Held session, Span limit) {
  if (!session->placing || session->directory_removed) co_return Step{};
  Step late = fail(late_error(*session, "session files were not removed in time"));
  Step removed = co_await within(session, limit, remove_directory(session), std::move(late));
  session->directory_removed = removed.has_value();
  co_return removed;
}

asio::awaitable<Step> release_owned(Held session, Span limit, bool finalized) {
  if (!session->sandbox_stopped) {
    // Files that stay would stay for good; but a sandbox that is stopped matters more.
    if (finalized && session->sandbox->traits().files_outlive_stop) {
      const Step removed = co_await remove_once(session, limit);
      if (!removed && removed.error().kind == ErrorKind::cancelled) co_return removed;
      if (!removed) session->warn(removed.error().text());
    }
    Step late = fail(late_error(*session, "sandbox did not stop in time"));
    const Step stopped = co_await within(session, limit, session->sandbox->stop(), std::move(late));
    // Only a success counts: a stop that failed is tried again by the next close.
    if (!stopped) co_return stopped;
    session->sandbox_stopped = true;
  }
  co_return co_await release_exec(session, limit);
}

asio::awaitable<Step> release_borrowed(Held session, Span limit, bool finalized) {
  const Until end = after(limit);
  // What is not confirmed keeps its files: they are the evidence.
  if (finalized) {
    const Step removed = co_await remove_once(session, limit);
    if (!removed) co_return removed;
  } else {
    const Step released = co_await release_exec(session, limit);
    if (!released) co_return released;
  }
  const Span left = std::max<Span>(end - Clock::now(), 1ms);
  Step late = fail(late_error(*session, "sandbox was not let go of in time"));
  co_return co_await within(session, left, session->sandbox->disconnect(), std::move(late));
}

asio::awaitable<Step> close_all(Held session, Span limit) {
  const Step finalized = co_await finalize(session, limit);
  if (!finalized) {
    if (finalized.error().kind == ErrorKind::cancelled) co_return finalized;
    const bool terminal = session->refusal.has_value();
    if (!session->owned() && !terminal) co_return finalized;
    if (session->owned()) session->warn("graceful cleanup failed; stopping owned sandbox");
    if (session->launch_started && !session->collect_attempted) {
      session->capture_error = Error{
          ErrorKind::unconfirmed,
          session->text(session->owned() ? "artifact capture unavailable during forced stop"
                                         : "artifact capture skipped: cleanup was not confirmed"),
          {}};
    }
  }
  const bool done = finalized.has_value();
  if (session->owned()) co_return co_await release_owned(session, limit, done);
  co_return co_await release_borrowed(session, limit, done);
}

asio::awaitable<Step> join_close(Held session, Span limit) {
  session->closing = true;
  if (must_start(session->close)) {
    session->close = Task<Step>::start(session->executor, close_all(session, limit));
  }
  const auto task = session->close;
  ++session->close_waiters;
  const bool done = co_await task->wait();
  --session->close_waiters;
  if (done) co_return task->result();
  if (session->close_waiters == 0) {
    co_await leave_in_peace();
    task->cancel();
    (void)co_await task->wait(after(limit));
  }
  co_return fail(ErrorKind::cancelled, session->text("close was cancelled"), "close again");
}

// The rest.

asio::awaitable<Step> expire_now(Held session, Span limit) {
  if (!session->launch_started) {
    co_return fail(ErrorKind::state, session->text("has not been launched"));
  }
  const ExecResult result = co_await verb(session, "expire", words(), limit);
  if (result.succeeded()) co_return Step{};
  co_return fail(verb_error(result, session->text("could not be expired")));
}

asio::awaitable<Expected<SessionStatus>> ask_status(Held session, Span limit) {
  if (session->supervisor.empty()) {
    co_return fail(ErrorKind::state, session->text("has not been staged"));
  }
  std::vector<std::string> more = words("--json");
  const ExecResult result = co_await verb(session, "status", std::move(more), limit);
  if (!result.succeeded()) {
    co_return fail(verb_error(result, session->text("status is not known")));
  }
  co_return parse_session_status(result.out);
}

asio::awaitable<Expected<std::string>> read_log(Held session, std::uint64_t most_bytes) {
  const std::string path = session->options.directory + '/' + kSessionFiles.output;
  co_return co_await download_end(*session->sandbox, path,
                                  session->options.output_limit + kLogSlack, most_bytes);
}

}  // namespace

std::string fresh_session_directory(std::string_view parent) {
  std::string path(parent);
  while (path.ends_with('/')) path.pop_back();
  return path + "/quietus-" + random_token();
}

Session::Session(asio::any_io_executor executor, std::shared_ptr<Sandbox> sandbox,
                 SessionOptions options)
    : state_(std::make_shared<State>(
          State{std::move(executor), std::move(sandbox), std::move(options)})) {}

Session::~Session() = default;

asio::awaitable<Expected<Artifacts>> Session::execute(Stage stage, Collect collect, Span timeout,
                                                      Span close_timeout) {
  return guarded(execute_all(state_, std::move(stage), std::move(collect), timeout, close_timeout));
}

asio::awaitable<Expected<void>> Session::close(Span timeout) {
  return guarded(join_close(state_, timeout));
}

asio::awaitable<Expected<void>> Session::expire(Span timeout) {
  return guarded(expire_now(state_, timeout));
}

asio::awaitable<Expected<SessionStatus>> Session::status(Span timeout) {
  return guarded(ask_status(state_, timeout));
}

asio::awaitable<std::string> Session::read_output_log(std::uint64_t most_bytes) {
  const std::shared_ptr<State> session = state_;
  auto text = co_await guarded(read_log(session, most_bytes));
  if (text) co_return std::move(*text);
  session->warn("Could not read " + session->options.harness +
                " harness output log: " + text.error().text());
  co_return std::string();
}

const std::string& Session::directory() const { return state_->options.directory; }
Sandbox& Session::sandbox() const { return *state_->sandbox; }
const std::string& Session::supervisor() const { return state_->supervisor; }
std::string Session::stop_request_path() const {
  return state_->options.directory + '/' + kSessionFiles.stop;
}
bool Session::launch_started() const { return state_->launch_started; }
const std::optional<Receipt>& Session::cleanup() const { return state_->cleanup; }
const std::optional<Receipt>& Session::refused_cleanup() const { return state_->refused; }
const Artifacts& Session::artifacts() const { return state_->artifacts; }
const std::optional<Error>& Session::capture_error() const { return state_->capture_error; }
std::optional<int> Session::exec_return_code() const { return state_->exec_return_code; }
bool Session::sandbox_stopped() const { return state_->sandbox_stopped; }
bool Session::closing() const { return state_->closing; }
bool Session::closed() const {
  return state_->close && state_->close->done() && state_->close->result().has_value();
}

}  // namespace quietus
