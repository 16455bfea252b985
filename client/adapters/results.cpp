#include "client/adapters/results.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "contract/decimal.hpp"
#include "contract/json.hpp"

namespace quietus::adapters {
namespace {

using nlohmann::json;

// Writing a value out again takes a stack frame a level.
constexpr int kMostDepth = 200;

bool is_shallow(std::string_view bytes) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char one = bytes[at];
    if (in_text) {
      if (one == '\\') ++at;
      if (one == '"') in_text = false;
    } else if (one == '"') {
      in_text = true;
    } else if (one == '{' || one == '[') {
      if (++depth > kMostDepth) return false;
    } else if (one == '}' || one == ']') {
      --depth;
    }
  }
  return true;
}

std::optional<json> parsed(std::string_view bytes) {
  if (!is_shallow(bytes)) return std::nullopt;
  json document = json::parse(bytes, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

const json* at(const json& document, const Pointer& pointer) {
  const json* node = &document;
  for (const std::string& name : pointer.names()) {
    if (node->is_object()) {
      const auto found = node->find(name);
      if (found == node->end()) return nullptr;
      node = &*found;
    } else if (node->is_array()) {
      const auto index = parse_decimal<std::size_t>(name);
      if (!index || *index >= node->size() || decimal(*index) != name) return nullptr;
      node = &(*node)[*index];
    } else {
      return nullptr;
    }
  }
  return node;
}

bool meets(const json& document, const Condition& condition) {
  const json* const node = at(document, condition.first);
  return node != nullptr && *node == json::parse(condition.second, nullptr, false);
}

std::string written(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

Expected<HarnessResult> value_of(const json& document, const Pointer& pointer,
                                 std::string_view where) {
  const json* const value = at(document, pointer);
  if (value == nullptr) {
    return fail(ErrorKind::sandbox,
                "the harness left no result: " + std::string(where) + " has no " + pointer.text());
  }
  HarnessResult result{.json = written(*value)};
  if (value->is_string()) result.text = value->get<std::string>();
  return result;
}

}  // namespace

tl::expected<Pointer, std::string> Pointer::parse(std::string_view text) {
  if (!text.empty() && text.front() != '/') {
    return tl::unexpected(std::string("must be empty or begin with /, such as /result/text"));
  }
  Pointer pointer;
  pointer.text_ = text;
  for (std::size_t place = 0; place < text.size(); ++place) {
    const char one = text[place];
    if (one == '/') {
      pointer.names_.emplace_back();
    } else if (one != '~') {
      pointer.names_.back() += one;
    } else if (place + 1 < text.size() && (text[place + 1] == '0' || text[place + 1] == '1')) {
      pointer.names_.back() += text[++place] == '0' ? '~' : '/';
    } else {
      return tl::unexpected(std::string("must have 0 or 1 behind a ~ (~0 is ~, ~1 is /)"));
    }
  }
  return pointer;
}

Expected<HarnessResult> read_exit_code(const Receipt& receipt) {
  if (receipt.return_code) return HarnessResult{.json = decimal(*receipt.return_code)};
  return fail(ErrorKind::sandbox, "the harness left no result: its exit code is not known");
}

Expected<HarnessResult> read_text(std::string_view bytes) {
  const std::size_t end = bytes.find_last_not_of(" \t\r\n");
  const std::string_view text = bytes.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return HarnessResult{.json = JsonWriter().text(text).take(), .text = std::string(text)};
}

Expected<HarnessResult> read_json(std::string_view bytes, const Pointer& value) {
  const std::optional<json> document = parsed(bytes);
  if (document) return value_of(*document, value, "its JSON");
  return fail(ErrorKind::sandbox, "the harness left no result: what it wrote is not JSON");
}

Expected<HarnessResult> read_json_lines(std::string_view bytes, const Pointer& value,
                                        const std::vector<Condition>& conditions) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find_last_of('\n');
    const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view line = bytes.substr(start);
    bytes = bytes.substr(0, start == 0 ? 0 : newline);
    const std::optional<json> document = parsed(line);
    if (!document || !document->is_object()) continue;
    if (std::ranges::all_of(conditions,
                            [&](const Condition& one) { return meets(*document, one); })) {
      return value_of(*document, value, "its last line");
    }
  }
  return fail(ErrorKind::sandbox,
              conditions.empty() ? "the harness left no result: no line that it wrote is JSON"
                                 : "the harness left no result: it wrote no line of JSON such as "
                                   "the adapter asks for");
}

}  // namespace quietus::adapters
