// What every fuzz target is made of: the entry point, and claims that must hold for any input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// libFuzzer calls it; the name is its own.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

// Ends the run with the claim that did not hold; libFuzzer then keeps the input.
inline void require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "\nnot so: %s\n", claim);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The input, taken apart from the front; when it is used up everything is zero and empty.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  std::uint8_t byte() {
    const std::string_view one = bytes(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one.front());
  }

  std::int64_t number() {
    std::uint64_t value = 0;
    for (const char c : bytes(8)) value = value << 8 | static_cast<std::uint8_t>(c);
    return static_cast<std::int64_t>(value);
  }

  std::string_view bytes(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  // Up to the separator, which goes too.
  std::string_view word(char separator) {
    const std::size_t end = rest_.find(separator);
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return taken;
  }

 private:
  std::string_view rest_;
};

}  // namespace fuzz
