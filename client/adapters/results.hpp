// What a harness says of its own work, read from what it wrote. Pure; its bytes are not trusted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "contract/receipt.hpp"
#include "quietus/adapter.hpp"

namespace quietus::adapters {

// A place in a JSON document (RFC 6901): /choices/0/text; empty: the whole.
class Pointer {
 public:
  Pointer() = default;
  // The error is the rule.
  static tl::expected<Pointer, std::string> parse(std::string_view text);
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::string> names_;
};

// The value at a place must be this one, written as JSON.
using Condition = std::pair<Pointer, std::string>;

// All of them: none, or an error (sandbox) that says what is wrong with what the harness wrote.
Expected<HarnessResult> read_exit_code(const Receipt& receipt);
// The text without the blanks and line ends behind it.
Expected<HarnessResult> read_text(std::string_view bytes);
// One document.
Expected<HarnessResult> read_json(std::string_view bytes, const Pointer& value);
// The last line that is a JSON object and meets all conditions. Other lines, such as what was
// written to standard error in between or a line that was cut, are skipped.
Expected<HarnessResult> read_json_lines(std::string_view bytes, const Pointer& value,
                                        const std::vector<Condition>& conditions);

}  // namespace quietus::adapters
