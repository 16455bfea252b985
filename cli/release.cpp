#include "cli/release.hpp"

#include "cli/session_verbs.hpp"
#include "cli/task.hpp"
#include "quietus/connect.hpp"

namespace quietus::cli {
namespace {

using namespace std::chrono_literals;

// What a dead controller had started may still be on its way to make the directory.
constexpr Span kLateArrival = 1s;

class Releasing {
 public:
  Releasing(const Services& services, LedgerFile ledger, Span patience, Insist insist)
      : services_(services),
        ledger_(std::move(ledger)),
        patience_(patience),
        insist_(insist),
        directory_(ledger_.entry().directory) {}

  asio::awaitable<Release> run() {
    auto sandbox = sandbox_of(ledger_.entry());
    if (!sandbox) co_return because(sandbox.error());
    Expected<void> gone;
    if (ledger_.entry().owned) {
      gone = co_await release_owned(**sandbox);
    } else {
      gone = co_await end(**sandbox);
    }
    if (!gone) co_return because(gone.error());
    const auto removed = ledger_.remove();
    if (!removed) co_return because(removed.error());
    result_.released = true;
    co_return result_;
  }

 private:
  Release because(Error error) {
    result_.error = std::move(error);
    return result_;
  }

  // Whether or not the session itself can still be asked, its sandbox goes; with files that would
  // outlive it, the session goes first.
  asio::awaitable<Expected<void>> release_owned(Sandbox& sandbox) {
    const auto status = co_await sandbox.status();
    if (status && *status == SandboxStatus::running) {
      const auto ended = co_await end(sandbox);
      if (!ended) result_.error = ended.error();
    }
    const auto stopped = co_await sandbox.stop();
    if (stopped) result_.error.reset();
    co_return stopped;
  }

  // Stops the session, confirms, removes its directory.
  asio::awaitable<Expected<void>> end(Sandbox& sandbox) {
    const auto supervisor = co_await find_supervisor(sandbox, *services_.source, directory_);
    if (!supervisor) co_return fail(supervisor.error());
    // Its directory may not be there yet, or not any more; made by us, it is fenced by the stop.
    const auto created = co_await session_verb(sandbox, *supervisor, directory_, "create");
    const StopAnswer answer =
        co_await stop_session(sandbox, *supervisor, directory_, patience_, Grace::given);
    result_.receipt = answer.receipt;
    if (answer.error && insist_ == Insist::on_confirmation) co_return fail(*answer.error);
    if (answer.error) result_.error = answer.error;
    const auto removed = co_await remove(sandbox, *supervisor);
    if (!removed || !created) co_return removed;
    // It was new, so that nothing had been launched: a late mkdir would be all that can come.
    (void)co_await pause_for(kLateArrival);
    co_return co_await remove(sandbox, *supervisor);
  }

  asio::awaitable<Expected<void>> remove(Sandbox& sandbox, std::string supervisor) {
    const auto removed = co_await session_verb(sandbox, supervisor, directory_, "remove");
    if (!removed) co_return fail(removed.error());
    co_return Expected<void>{};
  }

  const Services& services_;
  LedgerFile ledger_;
  Span patience_;
  Insist insist_;
  std::string directory_;
  Release result_;
};

}  // namespace

asio::awaitable<Release> release_session(const Services& services, LedgerFile ledger, Span patience,
                                         Insist insist) {
  Releasing releasing(services, std::move(ledger), patience, insist);
  co_return co_await releasing.run();
}

}  // namespace quietus::cli
