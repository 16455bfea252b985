#include "client/adapters/toml_reader.hpp"

#include <algorithm>

#include "contract/decimal.hpp"
#include "contract/json.hpp"

namespace quietus::adapters {
namespace {

constexpr std::size_t kMostShown = 60;

std::uint32_t line_of(const toml::node& node) { return node.source().begin.line; }

}  // namespace

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
