#include "contract/json.hpp"

#include "contract/decimal.hpp"

namespace quietus {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t code;
  std::size_t length;
};

// One UTF-8 sequence at the front of a non-empty text; a byte that starts none is replaced alone.
Decoded decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t length = 0;
  char32_t code = 0;
  char32_t smallest = 0;
  if ((lead & 0xE0) == 0xC0) {
    length = 2, code = lead & 0x1Fu, smallest = 0x80;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3, code = lead & 0x0Fu, smallest = 0x800;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4, code = lead & 0x07u, smallest = 0x10000;
  } else {
    return {kReplacement, 1};
  }
  if (text.size() < length) return {kReplacement, 1};
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return {kReplacement, 1};
    code = (code << 6) | (byte(at) & 0x3Fu);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest || code > 0x10FFFF || surrogate) return {kReplacement, 1};
  return {code, length};
}

void append_unit(std::string& out, char32_t unit) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 0xF];
}

void append_code(std::string& out, char32_t code) {
  if (code < 0x10000) return append_unit(out, code);
  const char32_t offset = code - 0x10000;
  append_unit(out, 0xD800 + (offset >> 10));
  append_unit(out, 0xDC00 + (offset & 0x3FF));
}

}  // namespace

void JsonWriter::separate() {
  if (!first_) out_ += ", ";
  first_ = false;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_ += '{';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  out_ += '}';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  out_ += '[';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  out_ += ']';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_escaped(name);
  out_ += ": ";
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  append_escaped(value);
  return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
  separate();
  append_decimal(out_, value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::seconds(std::int64_t nanoseconds) {
  separate();
  if (nanoseconds < 0) {
    out_ += '-';
    nanoseconds = -nanoseconds;
  }
  const std::int64_t microseconds = nanoseconds / 1000;
  append_decimal(out_, microseconds / 1000000);
  out_ += '.';
  std::string fraction;
  append_decimal(fraction, microseconds % 1000000);
  out_.append(6 - fraction.size(), '0');
  out_ += fraction;
  return *this;
}

JsonWriter& JsonWriter::field(std::string_view name, std::string_view value) {
  return key(name).text(value);
}
JsonWriter& JsonWriter::field(std::string_view name, const char* value) {
  return key(name).text(value);
}
JsonWriter& JsonWriter::field(std::string_view name, std::int64_t value) {
  return key(name).number(value);
}
JsonWriter& JsonWriter::field(std::string_view name, int value) { return key(name).number(value); }
JsonWriter& JsonWriter::field(std::string_view name, bool value) {
  return key(name).boolean(value);
}
JsonWriter& JsonWriter::seconds_field(std::string_view name, std::int64_t nanoseconds) {
  return key(name).seconds(nanoseconds);
}

void JsonWriter::append_escaped(std::string_view value) {
  out_ += '"';
  while (!value.empty()) {
    const Decoded decoded = decode_utf8(value);
    value.remove_prefix(decoded.length);
    switch (decoded.code) {
      case '"': out_ += "\\\""; break;
      case '\\': out_ += "\\\\"; break;
      case '\b': out_ += "\\b"; break;
      case '\f': out_ += "\\f"; break;
      case '\n': out_ += "\\n"; break;
      case '\r': out_ += "\\r"; break;
      case '\t': out_ += "\\t"; break;
      default:
        if (decoded.code >= 0x20 && decoded.code < 0x7F) {
          out_ += static_cast<char>(decoded.code);
        } else {
          append_code(out_, decoded.code);
        }
    }
  }
  out_ += '"';
}

}  // namespace quietus
