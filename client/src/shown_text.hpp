// What others wrote, for messages.
#pragma once

#include <string>
#include <string_view>

namespace quietus {

// Printable, short, and on one line, whatever it was.
inline std::string shown_text(std::string_view said, std::size_t most = 160) {
  std::string text;
  for (const char c : said) {
    if (text.size() >= most) return text + "...";
    const bool plain = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    if (plain) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace quietus
