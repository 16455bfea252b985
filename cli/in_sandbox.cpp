#include "cli/in_sandbox.hpp"

#include "cli/session_verbs.hpp"
#include "cli/task.hpp"
#include "contract/exit_code.hpp"
#include "quietus/connect.hpp"

namespace quietus::cli {

int told(Screen& screen, const Error& error) {
  if (screen.is_json()) screen.json({{"error", error_json(error)}});
  screen.error(error.text());
  return error.kind == ErrorKind::timeout ? kExitTimedOut : kExitFailed;
}

asio::awaitable<int> in_sandbox(const Services& services, Screen& screen, Work work) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const std::string name = services.settings.sandboxes.front();
  // A sandbox of our own must be found again if we are killed; a session needs the ledger anyway.
  const std::string directory = fresh_session_directory(services.settings.session_parent);
  LedgerEntry entry;
  entry.id = id_of_directory(directory);
  entry.sandbox = name;
  entry.directory = directory;
  entry.programs = services.settings.programs;
  TransportOptions options = transport_options(services, entry.id);
  const auto transport = transport_from_name(name, options);
  if (!transport) co_return told(screen, transport.error());
  std::optional<LedgerFile> ledger;
  if ((*transport)->creates()) {
    entry.owned = true;
    sign(entry);
    auto added = services.ledger.add(std::move(entry));
    if (!added) co_return told(screen, added.error());
    ledger.emplace(std::move(*added));
  }
  auto opened = co_await open_sandbox(name, services.payload, options);
  int code = kExitFailed;
  if (opened) {
    code = co_await work(*opened->sandbox);
  } else {
    code = told(screen, opened.error());
  }
  co_await not_cancellable();
  if (!ledger) {
    if (opened) (void)co_await opened->sandbox->disconnect();
    co_return code;
  }
  auto made = sandbox_of(ledger->entry());
  if (opened) made = opened->sandbox;
  Expected<void> stopped;
  if (made) stopped = co_await (*made)->stop();
  if (stopped) {
    (void)ledger->remove();
  } else {
    screen.error(stopped.error().text());
    code = kExitFailed;
  }
  co_return code;
}

}  // namespace quietus::cli
