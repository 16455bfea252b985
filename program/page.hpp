// A text for people, at most 79 columns wide, written front to back. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quietus {

class Page {
 public:
  static constexpr std::size_t kWidth = 79;

  Page& operator<<(std::string_view text);
  Page& operator<<(const char* text);
  Page& operator<<(std::int64_t number);
  // A path or a name may hold anything, and a terminal must not obey it; what is too long keeps its
  // end, which tells more.
  Page& shown(std::string_view text, std::size_t width);
  Page& size(std::uint64_t bytes);  // 79.1 GiB
  Page& column(std::size_t at);     // blanks up to there, one at least
  // Breaks the line so far at its blanks, indents what follows, and ends it.
  Page& wrap(std::size_t indent = 0);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t line_ = 0;  // where the last line begins
};

}  // namespace quietus
