// Ends and releases a session from its entry in the ledger, without whoever had started it.
#pragma once

#include <asio/awaitable.hpp>
#include <optional>

#include "cli/ledger.hpp"
#include "cli/services.hpp"
#include "contract/receipt.hpp"

namespace quietus::cli {

enum class Insist {
  on_confirmation,  // what is not confirmed stays, as evidence
  on_release,       // it goes all the same
};

struct Release {
  bool released = false;
  std::optional<Receipt> receipt = {};
  std::optional<Error> error = {};  // why it is not released, or not confirmed
};

// Removes the entry if everything of the session is gone.
asio::awaitable<Release> release_session(const Services& services, LedgerFile ledger, Span patience,
                                         Insist insist);

}  // namespace quietus::cli
