// The shield: Landlock's signal scope (Linux 6.12). Each half enters a domain of its own, nested:
// the guardian in D0, the supervisor in D0+D1, the worker in D0+D1+D2. A domain can signal itself
// and what is nested in it, nothing else. So kill(-1) from a half ends exactly what lies below it,
// atomically against fork, and the worker can reach neither half. See landlock(7).
#pragma once

#include "kernel/calls.hpp"

namespace quietus {

// One more domain around the caller. Without CAP_SYS_ADMIN the kernel wants no_new_privs, which is
// set then.
sys::Result<sys::Unit> enter_signal_domain(sys::Gate& gate);

// Somebody outside whom we can signal before the domain is entered: whoever started us, or init.
// 0: nobody to tell by.
int reachable_outsider(sys::Gate& gate, int self, int parent);

// Whether the domain really keeps us from `outsider`, a process that we could signal without it.
// Asked before kill(-1) is ever used: a layer that accepts the calls and does nothing must not cost
// strangers their lives.
bool domain_holds(sys::Gate& gate, int outsider);

}  // namespace quietus
