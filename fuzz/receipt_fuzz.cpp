// A receipt read back, judged by another JSON reader: what is strict is JSON, has the four values
// that the other reader sees, and is written as bytes that read back as the same.
//
// Module: contract/receipt_parse.cpp
#include <algorithm>
#include <string>

#include "contract/receipt_parse.hpp"
#include "json_reader.hpp"
#include "property.hpp"

using fuzz::require;
using nlohmann::json;
using quietus::parse_receipt;
using quietus::ParsedReceipt;
using quietus::Receipt;
using quietus::receipt_json;

namespace {

bool same(const Receipt& a, const Receipt& b) {
  return a.cleanup_confirmed == b.cleanup_confirmed && a.return_code == b.return_code &&
         a.error == b.error && a.timed_out == b.timed_out;
}

// Where the two readers may differ: bytes that are not ASCII, the NUL, and code points.
bool is_plain(std::string_view text) {
  const auto ascii = [](char c) { return c > '\0'; };
  return std::ranges::all_of(text, ascii) && text.find("\\u") == text.npos;
}

void check_strict(const ParsedReceipt& parsed, std::string_view text) {
  const std::string written = receipt_json(parsed.receipt);
  const auto again = parse_receipt(written);
  require(again && again->strict, "what is written from a receipt is a strict receipt");
  if (!is_plain(text)) return;
  require(same(again->receipt, parsed.receipt), "and the same one");
  require(receipt_json(again->receipt) == written, "byte for byte");
  const json other = fuzz::read_json(text);
  require(other.is_object() && other.size() == 4, "a strict receipt is an object of four keys");
  const Receipt& receipt = parsed.receipt;
  require(other.at("cleanup_confirmed") == receipt.cleanup_confirmed, "confirmed as it says");
  require(other.at("timed_out") == receipt.timed_out, "timed out as it says");
  const json code = receipt.return_code ? json(*receipt.return_code) : json();
  require(other.at("return_code") == code, "the return code as it says");
  const json error = receipt.error ? json(*receipt.error) : json();
  require(other.at("error") == error, "the error as it says");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto parsed = parse_receipt(text);
  if (!parsed) {
    require(!parsed.error().empty(), "a refusal says why");
    const bool deep = std::ranges::count_if(text, [](char c) { return c == '{' || c == '['; }) > 16;
    const bool ends_early = text.find('\0') != text.npos;  // for the other reader, which accepts it
    require(deep || ends_early || !fuzz::read_json(text).is_object(), "an object is not refused");
    return 0;
  }
  if (parsed->strict) check_strict(*parsed, text);
  if (parsed->receipt.cleanup_confirmed) {
    require(text.find("true") != text.npos, "nothing is confirmed that does not say so");
    const json other = fuzz::read_json(text);
    const bool read = other.is_object() && is_plain(text);
    require(!read || other.value("cleanup_confirmed", json()) == json(true), "nor by another key");
  }
  return 0;
}
