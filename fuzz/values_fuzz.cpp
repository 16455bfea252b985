// Whole numbers and the values of single options: what is accepted is in range and prints back.
//
// Module: contract/decimal.hpp contract/signals.cpp program/values.cpp
#include <string>

#include "contract/decimal.hpp"
#include "contract/signals.hpp"
#include "program/values.hpp"
#include "property.hpp"

using fuzz::require;
using quietus::decimal;
using quietus::parse_decimal;

namespace {

// As decimal() prints it: leading zeros say nothing, and there is no negative zero.
std::string canonical(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  while (text.size() > 1 && text.starts_with('0')) text.remove_prefix(1);
  return (negative && text != "0" ? "-" : "") + std::string(text);
}

template <class T>
void check_decimal(std::string_view text) {
  const auto value = parse_decimal<T>(text);
  if (!value) return;
  require(decimal(*value) == canonical(text), "a number prints as its digits");
  require(parse_decimal<T>(decimal(*value)) == value, "what is printed reads back as the same");
}

void check_values(std::string_view text) {
  if (const auto signal = quietus::parse_signal(text)) {
    require(*signal >= 1 && *signal <= quietus::kLastSignal, "a signal is 1 to 64");
    const std::string name = quietus::signal_name(*signal);
    const bool has_name = name.starts_with("SIG");  // 32 and 33 have none
    require(!has_name || quietus::parse_signal(name) == signal, "its name is it again");
  }
  if (const auto size = quietus::parse_size(text)) {
    require(*size >= 1 && *size <= std::uint64_t{1} << 30, "a size is 1 byte to 1 GiB");
    require(quietus::parse_size(decimal(*size)) == size, "and prints back in bytes");
  }
  if (const auto limit = quietus::parse_limit(text)) {
    require(limit->soft <= limit->hard, "a soft limit is at most the hard one");
  }
  if (const auto user = quietus::parse_user(text)) {
    require(user->uid != ~0u && user->gid.value_or(0) != ~0u, "-1 is nobody's number");
    const std::string group = user->gid ? ':' + decimal(*user->gid) : "";
    const auto again = quietus::parse_user(decimal(user->uid) + group);
    require(again && again->uid == user->uid && again->gid == user->gid, "a user prints back");
  }
  if (const auto policy = quietus::parse_descendants(text)) {
    require(quietus::name(*policy) == text, "a policy is its own name");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check_decimal<int>(text);
  check_decimal<unsigned>(text);
  check_decimal<std::int64_t>(text);
  check_decimal<std::uint64_t>(text);
  check_values(text);
  return 0;
}
