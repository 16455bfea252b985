#include "supervisor/ladder.hpp"

namespace quietus {

Ladder::Ladder(const Patience& patience, Moment launched)
    : cleanup_(patience.cleanup),
      wake_(patience.timeout ? Deadline::after(launched, *patience.timeout) : Deadline{}) {}

Ladder::Action Ladder::on(Event event, Moment now) {
  if (settled()) return Action::none;
  switch (event) {
    case Event::tick: return wake_.passed(now) ? out_of_time(now) : Action::none;
    case Event::stop:
      if (state_ != State::running) return Action::none;
      return enter(State::grace, Deadline::after(now, cleanup_), Action::terminate);
    case Event::kill:
      if (state_ != State::running && state_ != State::grace) return Action::none;
      return enter(State::reaping, Deadline::after(now, cleanup_), Action::kill);
    case Event::worker_ended: {
      if (worker_ended_) return Action::none;
      worker_ended_ = true;
      // Also after a KILL: its group is killed once more, while the zombie still holds the number.
      return enter(State::draining, Deadline::after(now, cleanup_), Action::kill);
    }
    case Event::quiet: return enter(State::settled, Deadline{}, Action::none);
  }
  return Action::none;
}

// An overdue deadline acts at once, however late we are woken (we were stopped, or the machine
// slept); the next phase always gets its full time.
Ladder::Action Ladder::out_of_time(Moment now) {
  const Deadline phase = Deadline::after(now, cleanup_);
  switch (state_) {
    case State::running: overran_ = true; return enter(State::grace, phase, Action::terminate);
    case State::grace: return enter(State::reaping, phase, Action::kill);
    case State::reaping: return enter(State::draining, phase, Action::kill);
    case State::draining: return enter(State::settled, Deadline{}, Action::give_up);
    case State::settled: break;
  }
  return Action::none;
}

Ladder::Action Ladder::enter(State state, Deadline wake, Action action) {
  state_ = state;
  wake_ = wake;
  return action;
}

}  // namespace quietus
