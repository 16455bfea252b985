// A receipt read back, without trust: the worker's user could have written it. Pure.
#pragma once

#include <string_view>

#include <tl/expected.hpp>

#include "contract/receipt.hpp"

namespace quietus {

struct ParsedReceipt {
  Receipt receipt;
  // Exactly the four keys with the right types. Otherwise what could be saved was saved: only a
  // cleanup_confirmed that is exactly true counts, a return code only if it is an integer.
  bool strict = false;
};

// The error says why it is no evidence at all: not a JSON object.
tl::expected<ParsedReceipt, std::string_view> parse_receipt(std::string_view json);

}  // namespace quietus
