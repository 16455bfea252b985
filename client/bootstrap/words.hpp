// Small words that several parts of the bootstrap use. Pure.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/src/shown_text.hpp"  // IWYU pragma: export
#include "contract/decimal.hpp"

namespace quietus {

// The text up to the separator, which is taken off with it; all of it where there is none.
inline std::string_view take(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view first = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return first;
}

inline std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

// What we download from; "file://host/" would be somebody else's file.
inline bool is_url(std::string_view text) {
  for (const std::string_view scheme : {"https://", "http://", "file:///"}) {
    if (text.starts_with(scheme)) return text.size() > scheme.size() || scheme == "file:///";
  }
  return false;
}

// The names that uname, Go and Debian have for the two that we build for become one.
inline std::string machine_name(std::string_view said) {
  if (said == "amd64" || said == "x86-64") return "x86_64";
  if (said == "arm64") return "aarch64";
  return std::string(said);
}

// Dotted numbers: -1, 0, 1; none where one of them is no such thing.
inline std::optional<int> compare_versions(std::string_view left, std::string_view right) {
  if (left.empty() || right.empty()) return {};
  while (!left.empty() || !right.empty()) {
    const auto a =
        left.empty() ? std::optional<unsigned>(0) : parse_decimal<unsigned>(take(left, '.'));
    const auto b =
        right.empty() ? std::optional<unsigned>(0) : parse_decimal<unsigned>(take(right, '.'));
    if (!a || !b) return {};
    if (*a != *b) return *a < *b ? -1 : 1;
  }
  return 0;
}

}  // namespace quietus
