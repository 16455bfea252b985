#include "harness/receipt_file.hpp"

#include <nlohmann/json.hpp>

namespace harness {

std::string ReceiptFile::bytes() const {
  const auto word = [](bool value) { return std::string(value ? "true" : "false"); };
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true);
  };
  return "{\"cleanup_confirmed\": " + word(cleanup_confirmed) +
         ", \"return_code\": " + (return_code ? std::to_string(*return_code) : "null") +
         ", \"error\": " + (error ? quoted(*error) : "null") +
         ", \"timed_out\": " + word(timed_out) + "}";
}

std::optional<ReceiptFile> ReceiptFile::parse(std::string_view text, std::string& why) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    why = "not a JSON object: '" + std::string(text) + "'";
    return {};
  }
  const auto kind = [&](const char* key, auto test) {
    if (json.contains(key) && test(json[key])) return true;
    why = std::string(key) + " is missing or of another kind: " + std::string(text);
    return false;
  };
  const auto boolean = [](const auto& v) { return v.is_boolean(); };
  if (json.size() != 4 || !kind("cleanup_confirmed", boolean) || !kind("timed_out", boolean) ||
      !kind("return_code", [](const auto& v) { return v.is_null() || v.is_number_integer(); }) ||
      !kind("error", [](const auto& v) {
        return v.is_null() || (v.is_string() && !v.template get<std::string>().empty());
      })) {
    if (why.empty()) why = "not exactly four keys: " + std::string(text);
    return {};
  }
  ReceiptFile receipt;
  receipt.cleanup_confirmed = json["cleanup_confirmed"];
  receipt.timed_out = json["timed_out"];
  if (!json["return_code"].is_null()) receipt.return_code = json["return_code"].get<int>();
  if (!json["error"].is_null()) receipt.error = json["error"].get<std::string>();
  if (receipt.bytes() != text) {
    why = "bytes differ from the contract's " + receipt.bytes() + ": " + std::string(text);
    return {};
  }
  return receipt;
}

}  // namespace harness
