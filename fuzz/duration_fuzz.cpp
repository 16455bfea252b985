// Durations: what is accepted lies within bounds, prints back as itself, and is what strtold makes
// of the same digits; what strtold takes is accepted.
//
// Module: contract/duration.cpp
#include <cmath>
#include <string>

#include "contract/decimal.hpp"
#include "contract/duration.hpp"
#include "property.hpp"

using fuzz::require;
using quietus::kForever;
using quietus::parse_duration;
using quietus::Span;
using quietus::Units;

namespace {

std::string printed(Span span) {
  const std::string fraction = quietus::decimal(span.count() % 1000000000);
  return quietus::decimal(span.count() / 1000000000) + '.' + std::string(9 - fraction.size(), '0') +
         fraction;
}

long double unit_of(std::string_view text) {
  if (text.ends_with('m')) return 60;
  if (text.ends_with('h')) return 60 * 60;
  return text.ends_with('d') ? 24 * 60 * 60 : 1;
}

void check(std::string_view text, Units units) {
  const auto span = parse_duration(text, units);
  if (!span) return require(!span.error().empty(), "a refusal names the rule");
  require(*span >= Span{1} && *span <= kForever, "accepted: positive, and not past the clock");
  const auto again = parse_duration(printed(*span), Units::seconds);
  require(again && *again == *span, "what is printed reads back as the same");
  const long double exact = std::strtold(std::string(text).c_str(), nullptr) * unit_of(text) * 1e9L;
  const auto got = static_cast<long double>(span->count());
  if (exact >= static_cast<long double>(kForever.count())) {
    require(kForever.count() - span->count() <= 8, "what is too long is for ever");
  } else {
    require(std::fabs(exact - got) <= 1 + exact * 1e-17L, "the value is that of the digits");
  }
}

// A plain decimal of any size that a double holds.
bool is_plain(std::string_view text) {
  if (text.find_first_not_of("0123456789.eE+-") != text.npos) return false;
  const char first = text.empty() ? '+' : text.front();
  if (first == '+' || first == '-' || first == 'e' || first == 'E') return false;
  const std::string copy(text);
  char* end = nullptr;
  const long double value = std::strtold(copy.c_str(), &end);
  return *end == '\0' && value > 1e-300L && value < 1e300L;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check(text, Units::seconds);
  check(text, Units::suffixes);
  const auto plain = parse_duration(text, Units::seconds);
  const auto any = parse_duration(text, Units::suffixes);
  if (plain)
    require(any && *any == *plain, "plain seconds mean the same where suffixes may follow");
  if (is_plain(text)) require(plain.has_value(), "every plain positive number is accepted");
  return 0;
}
