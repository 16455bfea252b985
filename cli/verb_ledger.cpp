// The verbs for the sessions of the ledger: stop, status, list, gc.
#include <algorithm>
#include <ctime>

#include "cli/interruptible.hpp"
#include "cli/release.hpp"
#include "cli/session_verbs.hpp"
#include "cli/task.hpp"
#include "cli/values.hpp"
#include "cli/verbs.hpp"
#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "quietus/session_status.hpp"

namespace quietus::cli {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr Span kPatience = 60s;
constexpr int kLooks = 30;
constexpr Span kLookAgain = 100ms;

Span patience_of(const Services& services) {
  return services.settings.timeout < kForever ? services.settings.timeout : kPatience;
}

int told(Screen& screen, const Error& error, int code) {
  if (screen.is_json()) screen.json({{"error", error_json(error)}});
  screen.error(error.text());
  return code;
}

// The one that begins with these letters; without any, the only one.
Expected<LedgerEntry> find_entry(const Ledger& ledger, std::string_view prefix) {
  const auto items = ledger.list();
  if (!items) return fail(items.error());
  std::optional<LedgerEntry> found;
  for (const LedgerItem& item : *items) {
    if (!item.entry || !item.entry->id.starts_with(prefix)) continue;
    if (found) {
      return fail(ErrorKind::input,
                  prefix.empty() ? std::string("there is more than one session")
                                 : "more than one session begins with " + shown_value(prefix),
                  "give one that quietusctl list shows");
    }
    found = *item.entry;
  }
  if (!found) {
    return fail(ErrorKind::input,
                prefix.empty() ? std::string("there is no session in the ledger")
                               : "no session begins with " + shown_value(prefix),
                "see quietusctl list");
  }
  return *found;
}

std::string_view wanted(const CommandLine& line) {
  return line.words.empty() ? std::string_view() : std::string_view(line.words.front());
}

int tell_released(Screen& screen, const std::string& id) {
  if (screen.is_json()) {
    screen.json({{"session", id}, {"receipt", json()}, {"released_by_controller", true}});
  } else {
    screen.out("stopped; its controller has confirmed and released it\n");
  }
  return kExitSuccess;
}

int tell_answer(Screen& screen, const std::string& id, const StopAnswer& answer) {
  if (screen.is_json()) {
    screen.json({{"session", id}, {"receipt", receipt_value(*answer.receipt)}});
  } else {
    screen.out(receipt_json(*answer.receipt) + '\n');
  }
  if (!answer.error) return kExitSuccess;
  screen.error(answer.error->text());
  return kExitNotConfirmed;
}

asio::awaitable<int> stop(const CommandLine& line, const Services& services, Screen& screen) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto entry = find_entry(services.ledger, wanted(line));
  if (!entry) co_return told(screen, entry.error(), kExitFailed);
  const auto sandbox = sandbox_of(*entry);
  if (!sandbox) co_return told(screen, sandbox.error(), kExitFailed);
  const auto supervisor = co_await find_supervisor(**sandbox, *services.source, entry->directory);
  if (!supervisor) co_return told(screen, supervisor.error(), kExitFailed);
  const StopAnswer answer =
      co_await stop_session(**sandbox, *supervisor, entry->directory, patience_of(services),
                            line.now ? Grace::none : Grace::given);
  if (!answer.receipt) {
    // A living controller sees the end, too, and removes the entry once it is confirmed.
    for (int look = 0; look < kLooks; ++look) {
      if (!find_entry(services.ledger, entry->id)) co_return tell_released(screen, entry->id);
      (void)co_await pause_for(kLookAgain);
    }
    co_return told(screen, *answer.error, kExitFailed);
  }
  co_return tell_answer(screen, entry->id, answer);
}

std::string status_text(const SessionStatus& status) {
  std::string text(name(status.phase));
  if (status.age_seconds) text += ", for " + duration_text(*status.age_seconds);
  if (status.deadline_seconds && *status.deadline_seconds < 1e8) {
    text += ", " + duration_text(*status.deadline_seconds) + " left";
  }
  if (status.cleanup_confirmed) {
    text += *status.cleanup_confirmed ? ", cleanup confirmed" : ", cleanup NOT confirmed";
  }
  text += '\n';
  for (const SessionProcess& process : status.processes) {
    text +=
        "  " + decimal(process.pid) + "  " + process.state + "  cpu " +
        duration_text(process.cpu_seconds) + "  mem " +
        size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, process.rss_kib)) * 1024) +
        "  " + (process.command_line.empty() ? process.comm : process.command_line) + '\n';
  }
  return text;
}

void tell_status(Screen& screen, const std::string& id, const std::string& said,
                 const SessionStatus& status) {
  if (screen.is_json()) {
    screen.json({{"session", id}, {"status", json::parse(said, nullptr, false)}});
  } else {
    screen.out(status_text(status));
  }
}

asio::awaitable<int> status(const CommandLine& line, const Services& services, Screen& screen) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto entry = find_entry(services.ledger, wanted(line));
  if (!entry) co_return told(screen, entry.error(), kExitFailed);
  const auto sandbox = sandbox_of(*entry);
  if (!sandbox) co_return told(screen, sandbox.error(), kExitFailed);
  const auto supervisor = co_await find_supervisor(**sandbox, *services.source, entry->directory);
  if (!supervisor) co_return told(screen, supervisor.error(), kExitFailed);
  std::vector<std::string> more(1, "--json");
  const auto said =
      co_await session_verb(**sandbox, *supervisor, entry->directory, "status", std::move(more));
  if (!said) co_return told(screen, said.error(), kExitFailed);
  const auto parsed = parse_session_status(*said);
  if (!parsed) co_return told(screen, parsed.error(), kExitFailed);
  tell_status(screen, entry->id, *said, *parsed);
  co_return kExitSuccess;
}

// --- gc ---------------------------------------------------------------------------------------

Error controller_lives(const LedgerEntry& entry) {
  return {ErrorKind::state, "the controller of this session lives",
          "stop it: quietusctl stop " + entry.id.substr(0, kShownId)};
}

class Collection {
 public:
  Collection(const CommandLine& line, const Services& services, Screen& screen)
      : line_(line), services_(services), screen_(screen) {}

  asio::awaitable<int> run() {
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto items = services_.ledger.list();
    if (!items) co_return told(screen_, items.error(), kExitFailed);
    for (const LedgerItem& item : *items) look_at(item);
    if (!line_.dry_run) services_.ledger.remove_unfinished();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::vector<std::shared_ptr<Task<Nothing>>> workers;
    const std::size_t count =
        std::min(left_.size(), static_cast<std::size_t>(services_.settings.parallel));
    for (std::size_t i = 0; i < count; ++i) {
      workers.push_back(Task<Nothing>::start(executor, work()));
    }
    for (const auto& worker : workers) {
      co_await worker->ended();
      (void)worker->result();
    }
    if (!screen_.is_json() && released_ == 0 && left_.empty()) screen_.news("nothing was left");
    co_return code_;
  }

  asio::awaitable<int> forget() {
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto entry = find_entry(services_.ledger, line_.forget);
    if (!entry) co_return told(screen_, entry.error(), kExitFailed);
    auto ledger = services_.ledger.take(entry->id);
    if (!ledger) {
      co_return told(screen_, controller_lives(*entry), kExitFailed);
    }
    Release release = co_await release_session(services_, std::move(*ledger),
                                               patience_of(services_), Insist::on_release);
    if (!release.released) {
      // The sandbox is not to be reached any more: who says forget has looked.
      auto again = services_.ledger.take(entry->id);
      release.released = again && again->remove();
      if (release.released && release.error) {
        screen_.warn("nobody knows how it ended: " + release.error->message);
        release.error.reset();
      }
    }
    tell(*entry, release, release.released ? "forgotten" : "left");
    if (!release.released) co_return kExitFailed;
    co_return code_;
  }

 private:
  void worsen(int code) {
    if (code_ != kExitNotConfirmed) code_ = code;
  }

  void look_at(const LedgerItem& item) {
    if (!item.entry) {
      // It may name a sandbox that runs: whoever can read it has to decide.
      worsen(kExitFailed);
      if (screen_.is_json()) {
        json line = ledger_item_json(item);
        line["action"] = "unreadable";
        screen_.json(line);
      }
      screen_.error("'" + services_.ledger.directory() + '/' + item.file +
                    "' is left alone: " + item.entry.error().text());
      return;
    }
    // A child that a dead controller had just forked holds his lock until it has become another
    // program: that takes a moment, and no more.
    if (item.held && (line_.dry_run || !writer_is_gone(*item.entry))) return tell_alive(item);
    if (line_.dry_run) return tell(*item.entry, {}, "would be released");
    left_.push_back(item);
  }

  void tell_alive(const LedgerItem& item) {
    if (!screen_.is_json()) return;
    json line = ledger_item_json(item);
    line["action"] = "alive";
    screen_.json(line);
  }

  asio::awaitable<Nothing> work() {
    while (next_ < left_.size()) {
      const bool cancelled = co_await was_cancelled();
      if (cancelled) break;
      const LedgerItem& item = left_[next_++];
      auto ledger = services_.ledger.take(item.entry->id);
      for (int look = 0; !ledger && item.held && look < kLooks; ++look) {
        (void)co_await pause_for(kLookAgain);
        ledger.reset();
        if (auto taken = services_.ledger.take(item.entry->id)) ledger.emplace(std::move(*taken));
      }
      if (!ledger) {
        // Another collection was faster, or somebody holds it all the same.
        if (item.held) tell_alive(item);
        continue;
      }
      const LedgerEntry entry = ledger->entry();
      const Release release = co_await release_session(
          services_, std::move(*ledger), patience_of(services_), Insist::on_confirmation);
      tell(entry, release, release.released ? "released" : "left");
      if (release.released) ++released_;
    }
    co_return Nothing{};
  }

  void tell(const LedgerEntry& entry, const Release& release, std::string_view action) {
    const bool refused = release.receipt && !release.receipt->cleanup_confirmed;
    if (refused) worsen(code_ = kExitNotConfirmed);
    if (release.error && !refused) worsen(kExitFailed);
    const std::string who =
        entry.id.substr(0, kShownId) + " in " + (entry.reach.empty() ? entry.sandbox : entry.reach);
    if (screen_.is_json()) {
      screen_.json({{"session", entry.id},
                    {"sandbox", entry.sandbox},
                    {"directory", entry.directory},
                    {"action", action},
                    {"receipt", release.receipt ? receipt_value(*release.receipt) : json()},
                    {"error", release.error ? error_json(*release.error) : json()}});
      return;
    }
    std::string text = who + ": " + std::string(action);
    if (release.receipt) {
      text += "; its command " + ending_text(*release.receipt) +
              (refused ? ", cleanup NOT confirmed" : ", cleanup confirmed");
    }
    screen_.out(text + '\n');
    if (release.error) screen_.error(who + ": " + release.error->text());
  }

  const CommandLine& line_;
  const Services& services_;
  Screen& screen_;
  std::vector<LedgerItem> left_;
  std::size_t next_ = 0;
  int released_ = 0;
  int code_ = kExitSuccess;
};

asio::awaitable<int> collect_garbage(const CommandLine& line, const Services& services,
                                     Screen& screen) {
  Collection collection(line, services, screen);
  if (line.forget.empty()) co_return co_await collection.run();
  co_return co_await collection.forget();
}

}  // namespace

int stop_verb(const CommandLine& line, const Services& services, Screen& screen) {
  return run_interruptible(screen, stop(line, services, screen));
}

int status_verb(const CommandLine& line, const Services& services, Screen& screen) {
  return run_interruptible(screen, status(line, services, screen));
}

int list_verb(const CommandLine&, const Services& services, Screen& screen) {
  const auto items = services.ledger.list();
  if (!items) return told(screen, items.error(), kExitFailed);
  if (!screen.is_json()) {
    screen.out(list_text(*items, std::time(nullptr)));
    return kExitSuccess;
  }
  json array = json::array();
  for (const LedgerItem& item : *items) array.push_back(ledger_item_json(item));
  screen.json({{"sessions", array}});
  return kExitSuccess;
}

int gc_verb(const CommandLine& line, const Services& services, Screen& screen) {
  return run_interruptible(screen, collect_garbage(line, services, screen));
}

}  // namespace quietus::cli
