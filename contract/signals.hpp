// Signal names and numbers, as kill(1) spells them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quietus {

inline constexpr int kLastSignal = 64;

// "TERM", "SIGTERM", "term", "15", "RTMIN+3"; nothing for what is no signal.
std::optional<int> signal_number(std::string_view name);

// "SIGTERM", "SIGRTMIN+3"; "signal 99" for what has no name.
std::string signal_name(int number);

// A set of signals in the kernel's own form: bit n-1 for signal n.
class SignalSet {
 public:
  constexpr SignalSet() = default;
  static constexpr SignalSet all() { return SignalSet(~std::uint64_t{0}); }
  static constexpr SignalSet of(auto... signals) {
    SignalSet set;
    (set.add(signals), ...);
    return set;
  }
  constexpr SignalSet& add(int signal) { return bits_ |= bit(signal), *this; }
  constexpr SignalSet& remove(int signal) { return bits_ &= ~bit(signal), *this; }
  [[nodiscard]] constexpr bool has(int signal) const { return (bits_ & bit(signal)) != 0; }
  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }

 private:
  explicit constexpr SignalSet(std::uint64_t bits) : bits_(bits) {}
  static constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << (signal - 1); }
  std::uint64_t bits_ = 0;
};

}  // namespace quietus
