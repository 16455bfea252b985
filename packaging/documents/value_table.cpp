#include "value_table.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace quietus::documents {

Value value_named(std::string_view name, const std::vector<Value>& known) {
  for (const Value& value : known) {
    if (value.name == name) return value;
  }
  std::fprintf(stderr, "documents: nothing is known of the value %s\n", std::string(name).c_str());
  std::exit(1);
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (separators.find(c) == separators.npos) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace quietus::documents
