// Durations as people type them. Pure; independent of the locale.
#pragma once

#include <string_view>

#include <tl/expected.hpp>

#include "contract/time.hpp"

namespace quietus {

enum class Units {
  seconds,   // plain seconds only: 90, 1.5, .5, 2e3 (the bare form, as upstream)
  suffixes,  // also s, m, h, d: 90s, 5m, 2h, 1d
};

// Positive and finite, else the error is the rule that was broken, ready for "must be ...".
// What is too long for the clock is kForever; what is shorter than a nanosecond is one nanosecond,
// never "no limit".
tl::expected<Span, std::string_view> parse_duration(std::string_view text, Units units);

}  // namespace quietus
