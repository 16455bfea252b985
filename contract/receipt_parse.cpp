#include "contract/receipt_parse.hpp"

#include <optional>
#include <string>

#include "contract/decimal.hpp"

namespace quietus {
namespace {

// Values nested deeper than this are no receipt of anybody's.
constexpr int kDeepest = 16;

struct Value {
  enum class Kind { null, boolean, integer, text, other };
  Kind kind = Kind::other;
  bool boolean = false;  // true only of the literal
  int integer = 0;
  std::string text;
};

class Reader {
 public:
  explicit Reader(std::string_view json) : rest_(json) {}

  bool take(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

  std::optional<std::string> string() {
    if (!take('"')) return std::nullopt;
    std::string text;
    while (!rest_.empty()) {
      const char c = next();
      if (c == '"') return text;
      if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
      if (c != '\\') {
        text += c;
      } else if (!escape(text)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  std::optional<Value> value(int depth = 0) {
    skip_blanks();
    if (rest_.empty() || depth > kDeepest) return std::nullopt;
    switch (rest_.front()) {
      case '"': {
        auto text = string();
        if (!text) return std::nullopt;
        return Value{.kind = Value::Kind::text, .text = std::move(*text)};
      }
      case '{': return container('}', true, depth);
      case '[': return container(']', false, depth);
      case 't': return literal("true", {.kind = Value::Kind::boolean, .boolean = true});
      case 'f': return literal("false", {.kind = Value::Kind::boolean, .boolean = false});
      case 'n': return literal("null", {.kind = Value::Kind::null});
      default: return number();
    }
  }

 private:
  void skip_blanks() {
    const std::size_t at = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at);
  }

  char next() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  bool escape(std::string& text) {
    if (rest_.empty()) return false;
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = next();
    if (const std::size_t at = kEscapes.find(c); at != std::string_view::npos) {
      text += kMeanings[at];
      return true;
    }
    if (c != 'u' || rest_.size() < 4) return false;
    unsigned code = 0;
    for (int digit = 0; digit < 4; ++digit) {
      const char hex = next();
      const std::size_t at = std::string_view("0123456789abcdefABCDEF").find(hex);
      if (at == std::string_view::npos) return false;
      code = code * 16 + static_cast<unsigned>(at < 16 ? at : at - 6);
    }
    // Diagnostics only: what is not ASCII is not needed to judge a receipt.
    text += code < 0x80 ? static_cast<char>(code) : '?';
    return true;
  }

  std::optional<Value> literal(std::string_view word, Value meaning) {
    if (!rest_.starts_with(word)) return std::nullopt;
    rest_.remove_prefix(word.size());
    return meaning;
  }

  std::optional<Value> number() {
    const std::size_t end = rest_.find_first_not_of("+-.0123456789eE");
    const std::string_view digits = rest_.substr(0, end);
    if (digits.empty() || digits.front() == '+') return std::nullopt;
    rest_.remove_prefix(digits.size());
    const auto integer = parse_decimal<int>(digits);
    // A fraction, too large, or with zeros in front, which is no JSON: nothing we use.
    const bool padded = digits.size() > 1 && digits[digits.front() == '-' ? 1 : 0] == '0';
    if (!integer || padded) return Value{};
    return Value{.kind = Value::Kind::integer, .integer = *integer};
  }

  std::optional<Value> container(char close, bool keyed, int depth) {
    next();
    if (take(close)) return Value{};
    do {
      if (keyed && (!string() || !take(':'))) return std::nullopt;
      if (!value(depth + 1)) return std::nullopt;
    } while (take(','));
    if (!take(close)) return std::nullopt;
    return Value{};
  }

  std::string_view rest_;
};

// Each key at most once, each of the right type.
class Judge {
 public:
  void take(const std::string& key, const Value& value) {
    using Kind = Value::Kind;
    Receipt& receipt = parsed_.receipt;
    if (key == "cleanup_confirmed") {
      note(0, value.kind == Kind::boolean);
      receipt.cleanup_confirmed = value.boolean;
    } else if (key == "return_code") {
      note(1, value.kind == Kind::integer || value.kind == Kind::null);
      receipt.return_code.reset();
      if (value.kind == Kind::integer) receipt.return_code = value.integer;
    } else if (key == "error") {
      note(2, value.kind == Kind::text || value.kind == Kind::null);
      receipt.error.reset();
      if (value.kind == Kind::text) receipt.error = value.text;
    } else if (key == "timed_out") {
      note(3, value.kind == Kind::boolean);
      receipt.timed_out = value.boolean;
    } else {
      well_formed_ = false;
    }
  }

  ParsedReceipt verdict() {
    parsed_.strict = well_formed_ && seen_ == 0xF;
    return parsed_;
  }

 private:
  void note(int key, bool right_type) {
    const unsigned bit = 1u << key;
    if (!right_type || (seen_ & bit) != 0) well_formed_ = false;
    seen_ |= bit;
  }

  ParsedReceipt parsed_;
  unsigned seen_ = 0;
  bool well_formed_ = true;
};

}  // namespace

tl::expected<ParsedReceipt, std::string_view> parse_receipt(std::string_view json) {
  constexpr std::string_view kNoObject = "cleanup receipt is not a JSON object";
  Reader reader(json);
  Judge judge;
  if (!reader.take('{')) return tl::unexpected(kNoObject);
  if (!reader.take('}')) {
    do {
      const auto key = reader.string();
      if (!key || !reader.take(':')) return tl::unexpected(kNoObject);
      const auto value = reader.value();
      if (!value) return tl::unexpected(kNoObject);
      judge.take(*key, *value);
    } while (reader.take(','));
    if (!reader.take('}')) return tl::unexpected(kNoObject);
  }
  if (!reader.at_end()) return tl::unexpected(kNoObject);
  return judge.verdict();
}

}  // namespace quietus
