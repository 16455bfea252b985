#include "contract/duration.hpp"

#include <cstdint>
#include <optional>

namespace quietus {
namespace {

constexpr int kNanosecondDigits = 9;
// The scientific exponent of the largest double: upstream calls what lies beyond "infinite".
constexpr long kLargestExponent = 308;
constexpr long kExponentCap = 100000;
// Digits past these change nothing at nanosecond resolution below kForever.
constexpr int kSignificantDigits = 19;

struct Decimal {
  std::uint64_t digits = 0;  // the first significant digits
  long exponent = 0;         // value = digits * 10^exponent
  long scientific = 0;       // exponent of the first significant digit
  std::string_view rest;     // what follows the number
};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// digits [. digits] [e [sign] digits], with at least one digit before the exponent.
std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal number;
  bool any_digit = false;
  bool after_point = false;
  int significant = 0;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (!is_digit(c)) break;
    any_digit = true;
    const bool leading_zero = significant == 0 && c == '0';
    if (!leading_zero && significant < kSignificantDigits) {
      number.digits = number.digits * 10 + static_cast<std::uint64_t>(c - '0');
      ++significant;
      if (after_point) --number.exponent;
    } else if (leading_zero) {
      if (after_point) --number.exponent;
    } else if (!after_point) {
      ++number.exponent;
    }
  }
  if (!any_digit) return std::nullopt;

  // An 'e' without digits after it is not an exponent but a wrong suffix: leave it in the rest.
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t next = at + 1;
    const bool negative = next < text.size() && text[next] == '-';
    if (next < text.size() && (text[next] == '-' || text[next] == '+')) ++next;
    if (next < text.size() && is_digit(text[next])) {
      long power = 0;
      for (; next < text.size() && is_digit(text[next]); ++next) {
        if (power < kExponentCap) power = power * 10 + (text[next] - '0');
      }
      number.exponent += negative ? -power : power;
      at = next;
    }
  }
  number.scientific = number.exponent + significant - 1;
  number.rest = text.substr(at);
  return number;
}

std::optional<std::uint64_t> seconds_in(std::string_view suffix) {
  if (suffix.empty() || suffix == "s") return 1;
  if (suffix == "m") return 60;
  if (suffix == "h") return 60 * 60;
  if (suffix == "d") return 24 * 60 * 60;
  return std::nullopt;
}

constexpr std::uint64_t kBillion = 1000000000;
constexpr auto kMost = static_cast<std::uint64_t>(kForever.count());

// value * 10^power, cut to a whole number; kMost at most.
std::uint64_t scaled(std::uint64_t value, long power) {
  for (; power > 0 && value > 0 && value < kMost; --power) {
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value)) value = kMost;
  }
  for (; power < 0 && value > 0; ++power) value /= 10;
  return value < kMost ? value : kMost;
}

// Nanoseconds, saturating at kForever; what is not zero never becomes zero.
Span to_span(const Decimal& number, std::uint64_t unit) {
  // digits * unit may need 81 bits: it is high * 10^9 + low, and neither of these overflows.
  const std::uint64_t low_product = number.digits % kBillion * unit;
  const std::uint64_t high = number.digits / kBillion * unit + low_product / kBillion;
  const std::uint64_t low = low_product % kBillion;
  const long power = number.exponent + kNanosecondDigits;
  const std::uint64_t value = scaled(high, power + kNanosecondDigits) + scaled(low, power);
  if (value >= kMost) return kForever;
  return value == 0 ? Span{1} : Span{static_cast<Span::rep>(value)};
}

}  // namespace

tl::expected<Span, std::string_view> parse_duration(std::string_view text, Units units) {
  const std::string_view rule =
      units == Units::seconds
          ? "a finite and positive number of seconds"
          : "finite and positive: a number of seconds, or one with the suffix s, m, h or d";
  const auto number = read_decimal(text);
  if (!number || number->digits == 0 || number->scientific > kLargestExponent) {
    return tl::unexpected(rule);
  }
  const auto unit = seconds_in(number->rest);
  if (!unit || (units == Units::seconds && !number->rest.empty())) return tl::unexpected(rule);
  return to_span(*number, *unit);
}

}  // namespace quietus
