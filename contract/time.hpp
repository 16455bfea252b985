// Monotonic time as a value. Nothing here reads a clock: each turn of a loop asks the kernel once
// (kernel/calls.hpp) and passes the moment down.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace quietus {

using Span = std::chrono::nanoseconds;

// CLOCK_MONOTONIC; deliberately without now().
struct Monotonic {
  using rep = Span::rep;
  using period = Span::period;
  using duration = Span;
  using time_point = std::chrono::time_point<Monotonic, Span>;
  static constexpr bool is_steady = true;
};
using Moment = Monotonic::time_point;

// Longer than any machine stays up (146 years): sums of a moment and a span cannot overflow.
inline constexpr Span kForever{std::int64_t{1} << 62};

// A moment that may never come. Default-constructed: never.
class Deadline {
 public:
  constexpr Deadline() = default;

  static constexpr Deadline at(Moment when) {
    Deadline deadline;
    deadline.when_ = when;
    return deadline;
  }
  static constexpr Deadline after(Moment now, Span span) {
    return span >= kForever ? Deadline{} : at(now + span);
  }

  [[nodiscard]] constexpr bool passed(Moment now) const { return when_ && *when_ <= now; }

  // What ppoll wants: no value means without end, zero means already over.
  [[nodiscard]] constexpr std::optional<Span> left(Moment now) const {
    if (!when_) return std::nullopt;
    return *when_ <= now ? Span::zero() : *when_ - now;
  }

  friend constexpr Deadline earlier(Deadline a, Deadline b) {
    if (!a.when_) return b;
    if (!b.when_) return a;
    return *a.when_ <= *b.when_ ? a : b;
  }

 private:
  std::optional<Moment> when_;
};

}  // namespace quietus
