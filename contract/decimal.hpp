// Whole numbers as text, without a locale. Pure.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

namespace quietus {

void append_decimal(std::string& out, std::integral auto value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

[[nodiscard]] std::string decimal(std::integral auto value) {
  std::string text;
  append_decimal(text, value);
  return text;
}

// The whole text must be the number: no blanks, no sign for unsigned types.
template <std::integral T>
[[nodiscard]] std::optional<T> parse_decimal(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace quietus
