// When to signal and how hard: state x event x time -> action. Pure; tested with a table.
//
//   running --deadline|stop|expire--> grace --over--> reaping --over--> draining --over--> settled
//      |                                |                |                 ^    (gave up)
//      +------ worker ended ------------+----------------+-----------------+
#pragma once

#include <optional>

#include "contract/time.hpp"

namespace quietus {

struct Patience {
  std::optional<Span> timeout;  // from the launch; none: no deadline
  Span cleanup{};               // the bound of each of the phases grace, reaping and draining
};

class Ladder {
 public:
  enum class State { running, grace, reaping, draining, settled };
  enum class Event {
    tick,  // time may have passed
    stop,  // somebody asks for the end; again and again changes nothing
    kill,  // ... and does not want to wait for the grace
    worker_ended,
    quiet,  // proven: nothing is left
  };
  enum class Action {
    none,
    terminate,  // ask the worker to end
    kill,       // end everything that the policy does not keep
    give_up,    // out of patience: what is left stays, unconfirmed
  };

  Ladder(const Patience& patience, Moment launched);

  Action on(Event event, Moment now);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool settled() const { return state_ == State::settled; }
  // When a tick is due.
  [[nodiscard]] Deadline wake() const { return wake_; }
  // Whether the deadline, not a request, ended the running phase.
  [[nodiscard]] bool overran() const { return overran_; }

 private:
  Action enter(State state, Deadline wake, Action action);
  Action out_of_time(Moment now);

  Span cleanup_;
  State state_ = State::running;
  Deadline wake_;
  bool worker_ended_ = false;
  bool overran_ = false;
};

}  // namespace quietus
