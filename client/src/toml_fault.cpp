#include "quietus/toml_fault.hpp"

#include <algorithm>
#include <array>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "client/src/shown_text.hpp"

namespace quietus {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// As much of TOML as it takes to know where a line begins that is not part of a value, and what is
// a text. Behind the first error it may be mistaken, but toml++ does not come there either.
class Scan {
 public:
  explicit Scan(std::string_view toml) : rest_(toml) {}

  std::optional<TomlFault> find() {
    while (!rest_.empty() && !fault_) {
      skip_blanks();
      if (rest_.starts_with('[') && !names_a_table()) {
        fault_ = {line_, "a table header must have a name behind its ["};
      }
      skip_line();
    }
    return fault_;
  }

 private:
  void skip(std::size_t count) {
    const std::string_view passed = rest_.substr(0, count);
    line_ += static_cast<std::uint32_t>(std::ranges::count(passed, '\n'));
    rest_.remove_prefix(passed.size());
  }
  void skip_blanks() { skip(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  bool names_a_table() {
    skip(rest_.starts_with("[[") ? 2 : 1);
    skip_blanks();
    const char first = rest_.empty() ? '\0' : rest_.front();
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') ||
           (first >= '0' && first <= '9') ||
           std::string_view("_-\"'").find(first) != std::string_view::npos;
  }

  // To the end of the line, or of the value that goes on over lines.
  void skip_line() {
    int depth = 0;
    while (!rest_.empty() && !fault_) {
      const char first = rest_.front();
      if (first == '\n' && depth <= 0) return skip(1);
      if (static_cast<unsigned char>(first) > 0x7f) {
        fault_ = {line_, "a letter beyond ASCII must stand in quotes, or behind a #"};
      }
      if (first == '#') {
        skip(std::min(rest_.find('\n'), rest_.size()));
      } else if (first == '"' || first == '\'') {
        skip_text(first);
      } else {
        if (first == '[' || first == '{') ++depth;
        if (first == ']' || first == '}') --depth;
        skip(1);
      }
    }
  }

  void skip_text(char quote) {
    const std::string three(3, quote);
    const bool is_long = rest_.starts_with(three);
    skip(is_long ? 3 : 1);
    while (!rest_.empty()) {
      if (rest_.front() == '\\' && quote == '"') {
        skip(2);
      } else if (is_long ? rest_.starts_with(three) : rest_.front() == quote) {
        skip(is_long ? 3 : 1);
        // Up to two quotes in front of the closing three belong to the text.
        for (int more = 0; is_long && more < 2 && rest_.starts_with(quote); ++more) skip(1);
        return;
      } else if (!is_long && rest_.front() == '\n') {
        return;
      } else {
        skip(1);
      }
    }
  }

  std::string_view rest_;
  std::uint32_t line_ = 1;
  std::optional<TomlFault> fault_;
};

bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

// The letters whose kind toml++ looks up, U+00A0 to U+FEFF, at some of which its table ends in
// undefined behaviour, have a place each in the plane U+F0000, where it does not look.
constexpr char32_t kFirstMoved = 0xA0;
constexpr char32_t kLastMoved = 0xFEFF;
constexpr char32_t kPlane = 0xF0000;

void append_utf8(std::string& text, char32_t letter) {
  const auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (letter < 0x800) {
    add(0xC0 | (letter >> 6));
  } else {
    if (letter < 0x10000) {
      add(0xE0 | (letter >> 12));
    } else {
      add(0xF0 | (letter >> 18));
      add(0x80 | ((letter >> 12) & 0x3F));
    }
    add(0x80 | ((letter >> 6) & 0x3F));
  }
  add(0x80 | (letter & 0x3F));
}

struct Letter {
  char32_t code = 0;
  std::size_t length = 1;
};

// The letter beyond ASCII at the front; code 0: it is none.
Letter front_letter(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  char32_t code = first & (0x7Fu >> length);
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(at) & 0x3F);
  }
  return {code, length};
}

// Each letter by way of `change`; what is no UTF-8 stays as it is.
template <class Change>
std::string with_letters(std::string_view text, Change change) {
  std::string result;
  while (!text.empty()) {
    const Letter letter = is_ascii(text.front()) ? Letter{} : front_letter(text);
    const char32_t changed = change(letter.code);
    if (changed == letter.code) {
      result += text.substr(0, letter.length);
    } else {
      append_utf8(result, changed);
    }
    text.remove_prefix(letter.length);
  }
  return result;
}

std::string moved(std::string_view toml) {
  return with_letters(toml, [](char32_t letter) {
    const bool is_surrogate = letter >= 0xD800 && letter <= 0xDFFF;
    const bool moves = letter >= kFirstMoved && letter <= kLastMoved && !is_surrogate;
    return moves ? letter + kPlane : letter;
  });
}

std::string moved_back(std::string_view told) {
  return with_letters(told, [](char32_t letter) {
    const bool moves = letter >= kPlane + kFirstMoved && letter <= kPlane + kLastMoved;
    return moves ? letter - kPlane : letter;
  });
}

std::optional<TomlFault> what_toml_says(std::string_view toml) {
  const toml::parse_result parsed = toml::parse(toml);
  if (parsed) return std::nullopt;
  const toml::parse_error& error = parsed.error();
  return TomlFault{error.source().begin.line, shown_text(moved_back(error.description()))};
}

// Of a text that is TOML: a \ at the end of a line is followed by what toml++ takes for blanks.
std::optional<TomlFault> find_letter_behind_break(std::string_view toml) {
  constexpr std::string_view kBlanks = " \t\r\n";
  for (std::size_t at = 0; (at = toml.find('\\', at)) != toml.npos; ++at) {
    const std::size_t end = std::min(toml.find_first_not_of(kBlanks, at + 1), toml.size());
    const std::string_view between = toml.substr(at + 1, end - at - 1);
    if (between.find('\n') == between.npos || end == toml.size() || is_ascii(toml[end])) continue;
    const auto line = 1 + std::ranges::count(toml.substr(0, end), '\n');
    return TomlFault{static_cast<std::uint32_t>(line),
                     "a letter beyond ASCII must not be the first behind a \\ at a line's end"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<TomlFault> find_toml_fault(std::string_view toml) {
  if (toml.starts_with(kByteOrderMark)) toml.remove_prefix(kByteOrderMark.size());
  if (auto fault = Scan(toml).find()) return fault;
  const std::string safe = moved(toml);
  if (auto fault = what_toml_says(safe)) return fault;
  if (safe == toml) return std::nullopt;
  if (auto fault = find_letter_behind_break(toml)) return fault;
  return what_toml_says(toml);
}

}  // namespace quietus
