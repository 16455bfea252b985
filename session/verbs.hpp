// The verbs of the session protocol. Each runs to its end and returns the exit code; what it has to
// say goes to stdout (receipts, status) or in one line to stderr.
#pragma once

#include "kernel/calls.hpp"
#include "session/requests.hpp"

namespace quietus {

// Makes the directory, mode 0700. 0 also when it is there and unclaimed.
int create_session(sys::Gate& gate, const SessionRequest& request);

// Claims the session and supervises the command. 121: nothing was started.
int launch_session(sys::Gate& gate, const LaunchRequest& request, int parent);

// Fences a session that was not launched, stops one that runs, recovers one that was lost. Prints
// the receipt. 0 confirmed, 123 not confirmed, 125 not known (also when time is over).
int stop_session(sys::Gate& gate, const SessionRequest& request);

// The deadline has come.
int expire_session(sys::Gate& gate, const SessionRequest& request);

// Keeps a lease.
int renew_session(sys::Gate& gate, const SessionRequest& request);

// Waits for the receipt and prints it. Exit codes as stop.
int wait_for_session(sys::Gate& gate, const SessionRequest& request);

// Prints what is known.
int show_session(sys::Gate& gate, const SessionRequest& request);

// Retires and deletes the directory. 0 also when it is gone already; 1 while a supervisor lives, or
// when what was launched has no receipt yet.
int remove_session(sys::Gate& gate, const SessionRequest& request);

}  // namespace quietus
