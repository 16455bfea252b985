// Values of single options: text to value, or the rule that was broken. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include <tl/expected.hpp>

#include "supervisor/options.hpp"

namespace quietus {

// The error completes "must be ...".
template <class T>
using Parsed = tl::expected<T, std::string_view>;

Parsed<int> parse_signal(std::string_view text);
Parsed<Descendants> parse_descendants(std::string_view text);
Parsed<std::uint64_t> parse_size(std::string_view text);   // bytes, 1 to 1 GiB
Parsed<ResourceLimit> parse_limit(std::string_view text);  // NAME=SOFT[:HARD]
Parsed<User> parse_user(std::string_view text);            // UID[:GID]

}  // namespace quietus
