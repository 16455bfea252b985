// The deadlines of a supervised command, seen from the controller. Pure. The first three are
// upstream's arithmetic (docs/upstream.md); StopTimeouts mends its tight spot.
#pragma once

#include <utility>

#include "contract/time.hpp"

namespace quietus {

// Bound of each cleanup phase unless told otherwise.
inline constexpr Span kDefaultCleanupTimeout = std::chrono::seconds(10);
// The grace after the signal, reaping the worker, draining its descendants.
inline constexpr int kCleanupPhaseCount = 3;
// Starting up, and writing and reading the receipt.
inline constexpr Span kExecMargin = std::chrono::seconds(30);
// How much longer than a legal cleanup a stop waits: the answer has to be written and carried.
inline constexpr Span kStopMargin = std::chrono::seconds(10);

// What the exec call of a launch gets: timeout + 3 * cleanup + 30 s; kForever stays kForever.
Span exec_timeout(Span timeout, Span cleanup_timeout = kDefaultCleanupTimeout);

struct SupervisionTimeouts {
  Span cleanup;  // --cleanup-timeout: a third of close_timeout, so that all phases fit in it
  Span exec;     // the exec call: timeout + close_timeout + 30 s
};
SupervisionTimeouts supervision_timeouts(Span timeout, Span close_timeout);

// A cleanup may legally last close_timeout. Who waits for it no longer than that misses the answer
// of the worst case, which upstream's client does; so both waits are longer.
struct StopTimeouts {
  Span inside;  // quietus stop --timeout
  Span exec;    // the exec call that carries it
};
StopTimeouts stop_timeouts(Span close_timeout, Span margin = kStopMargin);

}  // namespace quietus
