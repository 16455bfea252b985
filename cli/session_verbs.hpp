// The supervisor's verbs for a session that somebody else started, or that was left.
#pragma once

#include <asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cli/words.hpp"
#include "contract/receipt.hpp"
#include "quietus/payload.hpp"
#include "quietus/sandbox.hpp"

namespace quietus::cli {

// The sandbox that an entry of the ledger means; nothing is made, nothing is asked.
struct LedgerEntry;
Expected<std::shared_ptr<Sandbox>> sandbox_of(const LedgerEntry& entry);

// The path inside of a supervisor that works: the one that is there, else it is brought in.
asio::awaitable<Expected<std::string>> find_supervisor(Sandbox& sandbox, PayloadSource& source,
                                                       std::string directory);

struct StopAnswer {
  std::optional<Receipt> receipt = {};
  // unconfirmed: the receipt is final and does not confirm; else nothing is known.
  std::optional<Error> error = {};
};
enum class Grace { given, none };
asio::awaitable<StopAnswer> stop_session(Sandbox& sandbox, std::string supervisor,
                                         std::string directory, Span timeout, Grace grace);

// What `quietus VERB --session DIRECTORY MORE` prints, if it succeeds.
asio::awaitable<Expected<std::string>> session_verb(Sandbox& sandbox, std::string supervisor,
                                                    std::string directory, std::string verb,
                                                    std::vector<std::string> more = words());

}  // namespace quietus::cli
