#include "cli/run_session.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "cli/explain.hpp"
#include "cli/output_follower.hpp"
#include "cli/session_verbs.hpp"
#include "cli/task.hpp"
#include "contract/exit_code.hpp"
#include "contract/session_files.hpp"

namespace quietus::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMostReport = std::uint64_t{8} << 20;
// A log is longer than its limit by the line that tells what was cut.
constexpr std::uint64_t kLogSlack = std::uint64_t{1} << 20;
constexpr int kCloseAttempts = 3;
constexpr Span kCloseDelay = 1s;
constexpr Span kViewInterval = 250ms;
constexpr Span kStatusInterval = 1s;
constexpr Span kStatusTime = 10s;
constexpr Span kEndNowTime = 60s;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string read_end(const std::string& path, std::uint64_t most) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(0, file.tellg()));
  std::string text(std::min(size, most), '\0');
  file.seekg(static_cast<std::streamoff>(size - text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

// Before anything runs whose artifacts would be lost. Empty: none are wanted.
Expected<void> try_destination(const std::string& into, const std::string& id) {
  if (into.empty()) return {};
  const fs::path tried = fs::path(into) / (".quietus-" + id);
  std::error_code error;
  fs::create_directories(tried, error);
  if (error) {
    return fail(ErrorKind::input, "cannot put artifacts into '" + into + "': " + error.message(),
                "name another directory with --into");
  }
  fs::remove(tried, error);
  return {};
}

class Run {
 public:
  Run(const Services& services, SessionPlan plan, SessionHooks hooks)
      : services_(services), plan_(std::move(plan)), hooks_(std::move(hooks)) {}

  asio::awaitable<SessionResult> all() {
    co_await asio::this_coro::throw_if_cancelled(false);
    const std::string directory = fresh_session_directory(services_.settings.session_parent);
    result_.id = id_of_directory(directory);
    result_.sandbox = plan_.sandbox;
    result_.directory = directory;
    TransportOptions options = transport_options(services_, result_.id);
    const auto transport = transport_from_name(plan_.sandbox, options);
    if (!transport) {
      co_return failed(transport.error());
    }
    if ((*transport)->creates()) result_.ownership = Ownership::owned;
    auto ledger = services_.ledger.add(new_entry());
    if (!ledger) co_return failed(ledger.error());
    const std::string& into = plan_.globs.empty() ? plan_.adapter_run.into : ledger->entry().into;
    if (const auto usable = try_destination(into, result_.id); !usable) {
      (void)ledger->remove();
      co_return failed(usable.error());
    }
    co_await in_sandbox(*ledger, std::move(options));
    co_return finished();
  }

 private:
  LedgerEntry new_entry() const {
    LedgerEntry entry{.id = result_.id,
                      .sandbox = plan_.sandbox,
                      .owned = result_.ownership == Ownership::owned,
                      .directory = result_.directory};
    if (plan_.adapter) {
      entry.command = plan_.adapter->name();
    } else if (!plan_.argv.empty()) {
      entry.command = plan_.argv.front();
    }
    if (!plan_.globs.empty()) entry.into = fs::absolute(plan_.into).lexically_normal();
    entry.programs = services_.settings.programs;
    sign(entry);
    return entry;
  }

  void warn(std::string_view text) {
    result_.warnings.emplace_back(text);
    if (hooks_.warn) hooks_.warn(text);
  }

  SessionResult failed(Error error) {
    result_.error = std::move(error);
    result_.released = true;
    return finished();
  }

  SessionResult finished() {
    result_.seconds = seconds_since(began_);
    return std::move(result_);
  }

  asio::awaitable<void> in_sandbox(LedgerFile& ledger, TransportOptions options) {
    show("opening");
    auto opened = co_await open_sandbox(plan_.sandbox, services_.payload, options);
    if (!opened) {
      result_.error = opened.error();
      result_.cancelled = opened.error().kind == ErrorKind::cancelled;
      result_.exit_code = result_.cancelled ? kExitStopped : kExitFailed;
      co_await unmake(ledger);
      co_return;
    }
    if (result_.ownership == Ownership::owned) {
      LedgerEntry entry = ledger.entry();
      entry.reach = opened->sandbox->name();
      // What the token does not find, this does; where both fail the release below still comes.
      if (const auto updated = ledger.update(std::move(entry)); !updated) {
        warn(updated.error().text());
      }
    }
    co_await supervised(ledger, opened->sandbox);
  }

  // The library has ended what was half made; seen to be so, the ledger may forget it.
  asio::awaitable<void> unmake(LedgerFile& ledger) {
    co_await not_cancellable();
    bool gone = result_.ownership == Ownership::borrowed;
    if (!gone) {
      const auto sandbox = sandbox_of(ledger.entry());
      if (sandbox) {
        const auto stopped = co_await (*sandbox)->stop();
        gone = stopped.has_value();
      }
    }
    release(ledger, gone);
  }

  void release(LedgerFile& ledger, bool gone) {
    if (!gone) {
      warn("it stays in the ledger: quietusctl gc releases it");
      return;
    }
    const auto removed = ledger.remove();
    if (!removed) warn(removed.error().text());
    result_.released = removed.has_value();
  }

  asio::awaitable<void> supervised(LedgerFile& ledger, std::shared_ptr<Sandbox> sandbox) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    Session session(executor, sandbox, session_options());
    // A cancellation that came between two waits has ended neither.
    const bool cancelled = co_await was_cancelled();
    if (cancelled) {
      result_.cancelled = true;
      result_.error = stopped_before();
    } else {
      co_await execute(session);
    }
    // Until here a cancellation ended the command; from here on it ends the collecting.
    co_await cancellable_again();
    show("collecting");
    co_await bring_home(ledger, session);
    co_await not_cancellable();
    show("releasing");
    co_await close(ledger, session);
    judge(session);
  }

  static Error stopped_before() {
    return {ErrorKind::cancelled, "stopped before anything was launched", {}};
  }

  SessionOptions session_options() {
    SessionOptions options{.directory = result_.directory,
                           .workdir = plan_.workdir,
                           .harness = "the",  // as the messages begin
                           .ownership = result_.ownership,
                           .payload = services_.source,
                           .shield = services_.settings.shield,
                           .output_limit = services_.settings.output_limit,
                           .launch_options = plan_.launch_options};
    options.warn = [this](std::string_view text) { warn(text); };
    return options;
  }

  asio::awaitable<void> execute(Session& session) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    session_ = &session;
    show("staging");
    std::shared_ptr<Task<Nothing>> following;
    if (hooks_.output) {
      follower_.emplace(session, hooks_.output);
      following = Task<Nothing>::start(executor, run_follower(*follower_));
    }
    std::shared_ptr<Task<Nothing>> watching;
    if (hooks_.view) watching = Task<Nothing>::start(executor, watch(session));
    if (hooks_.can_end_now) hooks_.can_end_now([this, executor] { end_now(executor); });

    Stage stage = [this]() { return stage_command(); };
    // Fetched afterwards, because that may take longer than a cleanup.
    Collect collect = []() -> asio::awaitable<Expected<Artifacts>> { co_return Artifacts{}; };
    const auto executed = co_await session.execute(std::move(stage), std::move(collect),
                                                   plan_.timeout, services_.settings.close_timeout);
    if (!executed) {
      result_.error = executed.error();
      result_.cancelled = executed.error().kind == ErrorKind::cancelled;
    }
    co_await not_cancellable();
    if (hooks_.can_end_now) hooks_.can_end_now({});
    co_await finish(following);
    co_await finish(watching);
    if (ending_) co_await ending_->ended();
    session_ = nullptr;
  }

  asio::awaitable<Expected<SessionCommand>> stage_command() {
    if (!plan_.adapter) {
      SessionCommand command;
      command.argv = plan_.argv;
      command.environment = plan_.environment;
      co_return command;
    }
    plan_.adapter_run.session = result_.directory;
    plan_.adapter_run.progress = hooks_.progress;
    auto command = co_await plan_.adapter->stage(session_->sandbox(), plan_.adapter_run);
    if (command) {
      command->environment.insert(command->environment.end(), plan_.environment.begin(),
                                  plan_.environment.end());
    }
    co_return command;
  }

  asio::awaitable<void> collect_by_adapter(Session& session) {
    const Collected collected =
        co_await plan_.adapter->collect(session.sandbox(), plan_.adapter_run);
    for (const CollectedFile& file : collected.files) {
      result_.collection.artifacts.push_back({file.inside, file.local, file.bytes});
    }
    for (const Error& problem : collected.problems) {
      warn(problem.text());
      result_.collection.problems.push_back(problem);
    }
    auto read = plan_.adapter->read_result(collected, *session.cleanup());
    if (read) {
      result_.harness = std::move(*read);
    } else {
      warn(read.error().text());
    }
  }

  static asio::awaitable<void> finish(std::shared_ptr<Task<Nothing>> task) {
    if (!task) co_return;
    task->cancel();
    co_await task->ended();
  }

  static asio::awaitable<Nothing> run_follower(OutputFollower& follower) {
    co_await follower.follow();
    co_return Nothing{};
  }

  // A second interrupt: beside the stop that runs already, and told by the same receipt.
  void end_now(const asio::any_io_executor& executor) {
    if (session_ == nullptr || ending_ || session_->supervisor().empty()) return;
    ending_ = Task<StopAnswer>::start(
        executor, stop_session(session_->sandbox(), session_->supervisor(), session_->directory(),
                               kEndNowTime, Grace::none));
  }

  void show(std::string_view phase) {
    view_.phase = phase;
    view_.elapsed = seconds_since(began_);
    if (hooks_.view) hooks_.view(view_);
  }

  asio::awaitable<Nothing> watch(Session& session) {
    Clock::time_point asked = Clock::now() - kStatusInterval;
    std::optional<Clock::time_point> deadline;
    for (;;) {
      const bool cancelled = co_await was_cancelled();
      if (cancelled) break;
      if (session.launch_started() && Clock::now() - asked >= kStatusInterval) {
        const auto status = co_await session.status(kStatusTime);
        asked = Clock::now();
        if (status && !status->processes.empty()) {
          take(*status);
          deadline.reset();
          if (status->deadline_seconds && *status->deadline_seconds < 1e8) {
            deadline = asked + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(*status->deadline_seconds));
          }
        }
      }
      if (deadline) view_.deadline_left = std::max(0.0, -seconds_since(*deadline));
      show(view_.phase);
      const bool waited = co_await pause_for(kViewInterval);
      if (!waited) break;
    }
    co_return Nothing{};
  }

  void take(const SessionStatus& status) {
    view_.phase = name(status.phase);
    view_.processes = status.processes.size();
    view_.cpu_seconds = 0;
    view_.rss_kib = 0;
    for (const SessionProcess& process : status.processes) {
      view_.cpu_seconds += process.cpu_seconds;
      view_.rss_kib += process.rss_kib;
    }
  }

  // Report, output and artifacts.
  asio::awaitable<void> bring_home(LedgerFile& ledger, Session& session) {
    const bool confirmed = session.cleanup().has_value();
    if (!confirmed && !session.refused_cleanup()) co_return;
    const auto scratch = ledger.scratch();
    if (!scratch) {
      warn(scratch.error().text());
    } else {
      co_await fetch_report(session, *scratch + "/report.json");
      co_await fetch_log(session, *scratch + "/output.log");
    }
    // What was not confirmed to have ended may still write into its artifacts.
    if (!confirmed) co_return;
    if (plan_.adapter) co_await collect_by_adapter(session);
    if (plan_.globs.empty()) co_return;
    CollectRequest request;
    request.globs = plan_.globs;
    request.workdir = plan_.workdir;
    request.into = ledger.entry().into;
    request.arriving = arriving_directory(ledger.entry());
    request.most_bytes = services_.settings.max_artifact;
    result_.collection = co_await collect_artifacts(session.sandbox(), std::move(request));
    for (const std::string& glob : result_.collection.missing) {
      warn("nothing matches '" + glob + "'");
    }
    for (const Error& problem : result_.collection.problems) warn(problem.text());
  }

  asio::awaitable<void> fetch_report(Session& session, std::string to) {
    TransferOptions limits{.most_bytes = kMostReport};
    const std::string inside = session.directory() + '/' + kSessionFiles.report;
    // A session that was recovered has none.
    const auto got = co_await session.sandbox().download(inside, to, limits);
    if (got) result_.report = parse_report(read_end(to, kMostReport));
  }

  asio::awaitable<void> fetch_log(Session& session, std::string to) {
    if (!hooks_.log && !follower_ && plan_.kept_output == 0) co_return;
    TransferOptions limits{.most_bytes = services_.settings.output_limit + kLogSlack};
    const std::string inside = session.directory() + '/' + kSessionFiles.output;
    const auto got = co_await session.sandbox().download(inside, to, limits);
    if (!got) {
      // Where nothing was started there is none.
      if (session.cleanup() && session.cleanup()->return_code) {
        warn("the output could not be read: " + got.error().text());
      }
      co_return;
    }
    if (follower_) follower_->finish(to);
    if (hooks_.log) hooks_.log(to);
    if (plan_.kept_output > 0) result_.output = read_end(to, plan_.kept_output);
  }

  asio::awaitable<void> close(LedgerFile& ledger, Session& session) {
    Expected<void> closed;
    for (int attempt = 1; attempt <= kCloseAttempts; ++attempt) {
      closed = co_await session.close(services_.settings.close_timeout);
      if (closed) break;
      if (attempt < kCloseAttempts) (void)co_await pause_for(kCloseDelay);
    }
    if (!closed) {
      warn(closed.error().text());
    }
    if (session.refused_cleanup() && result_.ownership == Ownership::borrowed) {
      warn("'" + result_.directory +
           "' is kept as evidence, and stays in the ledger: see "
           "quietusctl status; quietusctl gc --forget " +
           result_.id.substr(0, kShownId) + " removes it");
      co_return;
    }
    release(ledger, closed.has_value());
  }

  void judge(const Session& session) {
    result_.receipt = session.cleanup() ? session.cleanup() : session.refused_cleanup();
    if (result_.receipt) {
      result_.exit_code =
          exit_code_of(*result_.receipt, result_.report ? &*result_.report : nullptr,
                       session.exec_return_code());
      // The receipt answers what the exec call could not: that is told, and no failure.
      if (session.cleanup() && result_.error) {
        if (!result_.cancelled) result_.warnings.push_back(result_.error->text());
        result_.error.reset();
      }
      // Stopped before there was a command that could have had an end of its own.
      const bool fenced = result_.receipt->cleanup_confirmed && !result_.receipt->return_code &&
                          !result_.receipt->error;
      if (result_.cancelled && fenced) result_.exit_code = kExitStopped;
      const bool whole = result_.released && result_.collection.problems.empty();
      if (!whole && result_.exit_code != kExitNotConfirmed) result_.exit_code = kExitFailed;
    } else if (!session.launch_started()) {
      result_.exit_code = result_.cancelled ? kExitStopped : kExitFailed;
    } else {
      // A sandbox that is gone has ended all that was in it, and told nobody how.
      result_.exit_code = session.sandbox_stopped() ? kExitFailed : kExitNotConfirmed;
    }
  }

  const Services& services_;
  SessionPlan plan_;
  SessionHooks hooks_;
  SessionResult result_;
  SessionView view_;
  Clock::time_point began_ = Clock::now();
  Session* session_ = nullptr;
  std::optional<OutputFollower> follower_;
  std::shared_ptr<Task<StopAnswer>> ending_;
};

}  // namespace

asio::awaitable<SessionResult> run_session(const Services& services, SessionPlan plan,
                                           SessionHooks hooks) {
  Run run(services, std::move(plan), std::move(hooks));
  co_return co_await run.all();
}

}  // namespace quietus::cli
