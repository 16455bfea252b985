// What a receipt that came back from a sandbox is worth. Pure.
#pragma once

#include <string>
#include <string_view>

#include "contract/receipt.hpp"
#include "quietus/error.hpp"

namespace quietus {

struct CheckedReceipt {
  Receipt receipt;
  bool strict = true;  // false: diagnostic fields were dropped
};

// Only an object whose cleanup_confirmed is exactly true is evidence of a confirmed cleanup; its
// other fields are kept where they have the right type. `harness` stands before the error's text,
// `{harness} sandbox cleanup was not confirmed: {detail}` (unconfirmed).
Expected<CheckedReceipt> check_receipt(std::string_view json, std::string_view harness);

inline constexpr std::string_view kReceiptFieldsDropped =
    "Cleanup was confirmed, but its diagnostic fields did not match the receipt schema";

}  // namespace quietus
