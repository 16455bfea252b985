// Reads a table of TOML key by key, and remembers the first thing that is wrong with it as one
// line: FILE:LINE: KEY = VALUE: RULE. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace quietus::adapters {

// A value as the file may have it, for messages: "npm", 12, a table. Short, and on one line.
std::string shown(const toml::node& node);
// The same for a text.
std::string shown(std::string_view text);

// Shared by all tables of one file.
class Complaint {
 public:
  explicit Complaint(std::string_view file) : file_(file) {}

  // The first one counts.
  void about(std::uint32_t line, std::string_view what, std::string_view rule);
  [[nodiscard]] bool made() const { return !line_.empty(); }
  [[nodiscard]] const std::string& line() const { return line_; }

 private:
  std::string file_;
  std::string line_;
};

class TableReader {
 public:
  // `path` is the table's own name, such as install[0]; empty at the top.
  TableReader(const toml::table& table, std::string path, Complaint& complaint)
      : table_(table), path_(std::move(path)), complaint_(complaint) {}

  // None where the key is not there, or has another type, which is complained of.
  std::optional<std::string> text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::int64_t> number(std::string_view key);
  const toml::node* node(std::string_view key) const { return table_.get(key); }
  std::optional<TableReader> table(std::string_view key);
  // Of a list of tables.
  std::vector<TableReader> tables(std::string_view key);

  // A misspelt key would silently be a missing one.
  void allow(std::initializer_list<std::string_view> keys);
  // What is wrong with the value of a key, or with one element of it.
  void wrong(std::string_view key, std::string_view rule);
  void wrong(std::string_view key, const toml::node& node, std::string_view rule);
  void wrong(std::string_view key, std::string_view value, std::string_view rule);
  void missing(std::string_view key, std::string_view rule);

  [[nodiscard]] const toml::table& raw() const { return table_; }
  [[nodiscard]] bool has(std::string_view key) const { return table_.get(key) != nullptr; }
  [[nodiscard]] bool failed() const { return complaint_.made(); }

 private:
  [[nodiscard]] std::string full(std::string_view key) const;

  const toml::table& table_;
  std::string path_;
  Complaint& complaint_;
};

}  // namespace quietus::adapters
