// What a command had to say, for one line of an error.
#pragma once

#include <string>
#include <string_view>

namespace quietus::adapters {

// The last line with anything on it; empty: there is none.
inline std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.find_last_of('\n') + 1));
}

}  // namespace quietus::adapters
