#include "client/adapters/toml_reader.hpp"

#include <algorithm>

#include "contract/decimal.hpp"
#include "contract/json.hpp"

namespace quietus::adapters {
namespace {

constexpr std::size_t kMostShown = 60;

std::uint32_t line_of(const toml::node& node) { return node.source().begin.line; }

// As much of TOML as it takes to know where a line begins that is not part of a value. What is
// wrong in any other way stops toml++ by itself.
class TrapScan {
 public:
  explicit TrapScan(std::string_view toml) : rest_(toml) {}

  std::optional<TomlTrap> find() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);  // a byte order mark
    while (!rest_.empty() && !trap_) {
      skip_blanks();
      if (rest_.starts_with('[') && !names_a_table()) {
        trap_ = {line_, "a table header must have a name behind its ["};
      }
      skip_line();
    }
    return trap_;
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
    while (!rest_.empty() && !trap_) {
      const char first = rest_.front();
      if (first == '\n' && depth <= 0) return skip(1);
      if (static_cast<unsigned char>(first) > 0x7f) {
        trap_ = {line_, "a letter beyond ASCII must stand in quotes, or behind a #"};
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
  std::optional<TomlTrap> trap_;
};

}  // namespace

std::optional<TomlTrap> find_toml_trap(std::string_view toml) { return TrapScan(toml).find(); }

std::string shown(std::string_view text) {
  const bool cut = text.size() > kMostShown;
  return JsonWriter().text(text.substr(0, kMostShown)).take() + (cut ? "..." : "");
}

std::string shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return shown(std::string_view(text->get()));
  if (const auto* number = node.as_integer()) return decimal(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (node.is_table()) return "a table";
  if (node.is_array()) return "a list";
  if (node.is_floating_point()) return "a fraction";
  return "a date or time";
}

void Complaint::about(std::uint32_t line, std::string_view what, std::string_view rule) {
  if (made()) return;
  line_ = file_ + ':' + decimal(line) + ": " + std::string(what) + ' ' + std::string(rule);
  std::ranges::replace_if(
      line_, [](char one) { return static_cast<unsigned char>(one) < ' '; }, ' ');
}

std::string TableReader::full(std::string_view key) const {
  // A key may be any text; what does not look like a name is quoted, as in the file.
  const bool plain = !key.empty() && std::ranges::all_of(key, [](char one) {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') ||
           one == '_' || one == '-' || one == '[' || one == ']';
  });
  const std::string name = plain ? std::string(key) : shown(key);
  return path_.empty() ? name : path_ + '.' + name;
}

void TableReader::wrong(std::string_view key, const toml::node& node, std::string_view rule) {
  complaint_.about(line_of(node), full(key) + " = " + shown(node) + ':', rule);
}
void TableReader::wrong(std::string_view key, std::string_view rule) {
  if (const toml::node* node = table_.get(key)) wrong(key, *node, rule);
}
void TableReader::wrong(std::string_view key, std::string_view value, std::string_view rule) {
  const toml::node* node = table_.get(key);
  complaint_.about(line_of(node != nullptr ? *node : table_),
                   full(key) + " = " + shown(value) + ':', rule);
}
void TableReader::missing(std::string_view key, std::string_view rule) {
  complaint_.about(std::max<std::uint32_t>(line_of(table_), 1), full(key) + " is missing:", rule);
}

std::optional<std::string> TableReader::text(std::string_view key) {
  const toml::node* const found = table_.get(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* value = found->as_string()) return value->get();
  wrong(key, "must be a text in quotes");
  return std::nullopt;
}

std::optional<bool> TableReader::flag(std::string_view key) {
  const toml::node* const found = table_.get(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* value = found->as_boolean()) return value->get();
  wrong(key, "must be true or false");
  return std::nullopt;
}

std::optional<std::int64_t> TableReader::number(std::string_view key) {
  const toml::node* const found = table_.get(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* value = found->as_integer()) return value->get();
  wrong(key, "must be a whole number");
  return std::nullopt;
}

std::optional<TableReader> TableReader::table(std::string_view key) {
  const toml::node* const found = table_.get(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* inner = found->as_table()) return TableReader(*inner, full(key), complaint_);
  wrong(key, "must be a table");
  return std::nullopt;
}

std::vector<TableReader> TableReader::tables(std::string_view key) {
  std::vector<TableReader> readers;
  const toml::node* const found = table_.get(key);
  if (found == nullptr) return readers;
  const toml::array* const list = found->as_array();
  if (list == nullptr) wrong(key, "must be tables, each headed [[" + std::string(key) + "]]");
  for (std::size_t place = 0; list != nullptr && place < list->size(); ++place) {
    const toml::node& element = *list->get(place);
    const std::string name = std::string(key) + '[' + decimal(place) + ']';
    if (const auto* inner = element.as_table()) {
      readers.push_back(TableReader(*inner, full(name), complaint_));
    } else {
      wrong(name, element, "must be a table");
    }
  }
  return readers;
}

void TableReader::allow(std::initializer_list<std::string_view> keys) {
  for (const auto& [key, value] : table_) {
    if (std::ranges::find(keys, key.str()) != keys.end()) continue;
    std::string names;
    for (const std::string_view one : keys) names += (names.empty() ? "" : ", ") + std::string(one);
    complaint_.about(key.source().begin.line, full(key.str()) + " = " + shown(value) + ':',
                     "is no key of an adapter; here there are " + names);
  }
}

}  // namespace quietus::adapters
