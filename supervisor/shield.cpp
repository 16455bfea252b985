#include "supervisor/shield.hpp"

#include <cerrno>

#include "kernel/numbers.hpp"

namespace quietus {

sys::Result<sys::Unit> enter_signal_domain(sys::Gate& gate) {
  const auto abi = sys::landlock_abi(gate);
  if (!abi) return tl::unexpected(abi.error());
  if (*abi < sys::kLandlockScopeAbi) {
    return tl::unexpected(sys::Error{ENOSYS, "landlock signal scope"});
  }
  const auto restricted = sys::restrict_signals(gate);
  if (restricted || !sys::denied(restricted.error())) return restricted;
  if (const auto set = sys::set_no_new_privileges(gate); !set) return set;
  return sys::restrict_signals(gate);
}

int reachable_outsider(sys::Gate& gate, int self, int parent) {
  for (const int candidate : {parent, 1}) {
    if (candidate > 0 && candidate != self && sys::kill(gate, candidate, 0)) return candidate;
  }
  return 0;
}

bool domain_holds(sys::Gate& gate, int outsider) {
  const auto reached = sys::kill(gate, outsider, 0);
  return !reached && sys::denied(reached.error());
}

}  // namespace quietus
