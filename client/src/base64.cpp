#include "client/src/base64.hpp"

#include <cstdint>

namespace quietus {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  while (!bytes.empty()) {
    std::uint32_t group = 0;
    for (std::size_t at = 0; at < 3; ++at) {
      group = group << 8 | (at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0u);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      text += digit <= bytes.size() ? kDigits[group >> (18 - 6 * digit) & 63] : '=';
    }
    bytes.remove_prefix(bytes.size() < 3 ? bytes.size() : 3);
  }
  return text;
}

}  // namespace quietus
