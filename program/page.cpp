#include "program/page.hpp"

#include "contract/decimal.hpp"

namespace quietus {

Page& Page::operator<<(std::string_view text) {
  text_ += text;
  const std::size_t newline = text_.rfind('\n');
  if (newline != std::string::npos) line_ = newline + 1;
  return *this;
}

Page& Page::operator<<(const char* text) { return *this << std::string_view(text); }

Page& Page::operator<<(std::int64_t number) {
  append_decimal(text_, number);
  return *this;
}

Page& Page::shown(std::string_view text, std::size_t width) {
  if (text.size() > width) {
    text.remove_prefix(text.size() - width + 3);
    text_ += "...";
  }
  for (const char c : text) text_ += c >= ' ' && c <= '~' ? c : '?';
  return *this;
}

Page& Page::size(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "BKMGTPE";
  constexpr std::uint64_t kStep = 1024;
  std::size_t unit = 0;
  std::uint64_t below = 0;
  for (; bytes >= kStep; ++unit) {
    below = bytes % kStep;
    bytes /= kStep;
  }
  *this << static_cast<std::int64_t>(bytes);
  if (unit > 0) *this << "." << static_cast<std::int64_t>(below * 10 / kStep);
  *this << " ";
  if (unit > 0) *this << kUnits.substr(unit, 1) << "i";
  return *this << "B";
}

Page& Page::column(std::size_t at) {
  const std::size_t end = line_ + at;
  text_.append(end > text_.size() ? end - text_.size() : 1, ' ');
  return *this;
}

Page& Page::wrap(std::size_t indent) {
  std::size_t least = line_;
  while (text_.size() - line_ > kWidth) {
    const std::size_t at = text_.rfind(' ', line_ + kWidth);
    if (at == std::string::npos || at <= least) break;  // one long word stays whole
    text_[at] = '\n';
    text_.insert(at + 1, indent, ' ');
    line_ = at + 1;
    least = line_ + indent;
  }
  return *this << "\n";
}

}  // namespace quietus
