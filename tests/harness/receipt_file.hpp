// The receipt as a test sees it: bytes first, meaning second.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace harness {

struct ReceiptFile {
  bool cleanup_confirmed = false;
  std::optional<int> return_code;
  std::optional<std::string> error;
  bool timed_out = false;

  // Upstream's bytes: these four keys in this order, one blank after comma and colon, everything
  // beyond printable ASCII escaped, no newline.
  [[nodiscard]] std::string bytes() const;

  // Strict: text that is not exactly what bytes() gives for the parsed values is no receipt. `why`
  // says what is wrong with it.
  static std::optional<ReceiptFile> parse(std::string_view text, std::string& why);
};

}  // namespace harness
