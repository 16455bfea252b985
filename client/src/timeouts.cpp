#include "quietus/timeouts.hpp"

namespace quietus {
namespace {

// Sums of what people may ask for must not overflow.
Span plus(Span a, Span b) { return a >= kForever - b ? kForever : a + b; }

}  // namespace

Span exec_timeout(Span timeout, Span cleanup_timeout) {
  if (cleanup_timeout >= kForever / kCleanupPhaseCount) return kForever;
  return plus(plus(timeout, cleanup_timeout * kCleanupPhaseCount), kExecMargin);
}

SupervisionTimeouts supervision_timeouts(Span timeout, Span close_timeout) {
  const Span cleanup = close_timeout / kCleanupPhaseCount;
  // Not exec_timeout(timeout, cleanup): the division may have lost up to two nanoseconds.
  return {.cleanup = cleanup, .exec = plus(plus(timeout, close_timeout), kExecMargin)};
}

StopTimeouts stop_timeouts(Span close_timeout, Span margin) {
  const Span inside = plus(close_timeout, margin);
  return {.inside = inside, .exec = plus(inside, margin)};
}

}  // namespace quietus
