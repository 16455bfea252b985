#include "supervisor/ladder.hpp"

#include <gtest/gtest.h>

namespace quietus {
namespace {

using namespace std::chrono_literals;
using State = Ladder::State;
using Event = Ladder::Event;
using Action = Ladder::Action;

constexpr Moment at(Span span) { return Moment(span); }

constexpr Patience kPatience{.timeout = 10s, .cleanup = 2s};

// A ladder in this state since second 1, launched at second 0.
Ladder in(State state) {
  Ladder ladder(kPatience, at(0s));
  switch (state) {
    case State::running: break;
    case State::grace: ladder.on(Event::stop, at(1s)); break;
    case State::reaping: ladder.on(Event::kill, at(1s)); break;
    case State::draining: ladder.on(Event::worker_ended, at(1s)); break;
    case State::settled: ladder.on(Event::quiet, at(1s)); break;
  }
  EXPECT_EQ(ladder.state(), state);
  return ladder;
}

struct Row {
  State from;
  Event event;
  Action action;
  State to;
};

constexpr Row kTable[] = {
    // Half a second after the state was entered: no time has passed that would matter.
    {State::running, Event::tick, Action::none, State::running},
    {State::running, Event::stop, Action::terminate, State::grace},
    {State::running, Event::kill, Action::kill, State::reaping},
    {State::running, Event::worker_ended, Action::kill, State::draining},
    {State::running, Event::quiet, Action::none, State::settled},
    {State::grace, Event::tick, Action::none, State::grace},
    {State::grace, Event::stop, Action::none, State::grace},
    {State::grace, Event::kill, Action::kill, State::reaping},
    {State::grace, Event::worker_ended, Action::kill, State::draining},
    {State::grace, Event::quiet, Action::none, State::settled},
    {State::reaping, Event::tick, Action::none, State::reaping},
    {State::reaping, Event::stop, Action::none, State::reaping},
    {State::reaping, Event::kill, Action::none, State::reaping},
    {State::reaping, Event::worker_ended, Action::kill, State::draining},
    {State::reaping, Event::quiet, Action::none, State::settled},
    {State::draining, Event::tick, Action::none, State::draining},
    {State::draining, Event::stop, Action::none, State::draining},
    {State::draining, Event::kill, Action::none, State::draining},
    {State::draining, Event::worker_ended, Action::none, State::draining},
    {State::draining, Event::quiet, Action::none, State::settled},
    {State::settled, Event::tick, Action::none, State::settled},
    {State::settled, Event::stop, Action::none, State::settled},
    {State::settled, Event::kill, Action::none, State::settled},
    {State::settled, Event::worker_ended, Action::none, State::settled},
    {State::settled, Event::quiet, Action::none, State::settled},
};

TEST(Ladder, EveryEventInEveryState) {
  for (const Row& row : kTable) {
    Ladder ladder = in(row.from);
    EXPECT_EQ(ladder.on(row.event, at(1500ms)), row.action)
        << "state " << int(row.from) << ", event " << int(row.event);
    EXPECT_EQ(ladder.state(), row.to) << "state " << int(row.from) << ", event " << int(row.event);
  }
}

TEST(Ladder, GoesDownStepByStepWhenNothingHappensButTime) {
  Ladder ladder(kPatience, at(0s));
  EXPECT_EQ(ladder.on(Event::tick, at(10s - 1ns)), Action::none);
  EXPECT_EQ(ladder.on(Event::tick, at(10s)), Action::terminate);
  EXPECT_EQ(ladder.on(Event::tick, at(12s - 1ns)), Action::none);
  EXPECT_EQ(ladder.on(Event::tick, at(12s)), Action::kill);
  EXPECT_EQ(ladder.on(Event::tick, at(14s - 1ns)), Action::none);
  EXPECT_EQ(ladder.on(Event::tick, at(14s)), Action::kill);
  EXPECT_EQ(ladder.state(), State::draining);
  EXPECT_EQ(ladder.on(Event::tick, at(16s - 1ns)), Action::none);
  EXPECT_EQ(ladder.on(Event::tick, at(16s)), Action::give_up);
  EXPECT_TRUE(ladder.settled());
}

TEST(Ladder, WakesWhenTheNextStepIsDue) {
  Ladder ladder(kPatience, at(5s));
  EXPECT_EQ(ladder.wake().left(at(5s)), Span(10s));
  ladder.on(Event::stop, at(7s));
  EXPECT_EQ(ladder.wake().left(at(7s)), Span(2s));
  ladder.on(Event::worker_ended, at(8s));
  EXPECT_EQ(ladder.wake().left(at(8s)), Span(2s));
  ladder.on(Event::quiet, at(8s));
  EXPECT_EQ(ladder.wake().left(at(8s)), std::nullopt);
}

// We were stopped, or the machine slept: the deadline acts at once, but the worker is not robbed of
// its grace.
TEST(Ladder, AfterALateWakeUpTheNextPhaseGetsItsFullTime) {
  Ladder ladder(kPatience, at(0s));
  EXPECT_EQ(ladder.on(Event::tick, at(1h)), Action::terminate);
  EXPECT_EQ(ladder.wake().left(at(1h)), Span(2s));
  EXPECT_EQ(ladder.on(Event::tick, at(1h + 2s - 1ns)), Action::none);
  EXPECT_EQ(ladder.on(Event::tick, at(2h)), Action::kill);
  EXPECT_EQ(ladder.wake().left(at(2h)), Span(2s));
  EXPECT_EQ(ladder.on(Event::tick, at(3h)), Action::kill);
  EXPECT_EQ(ladder.wake().left(at(3h)), Span(2s));
}

TEST(Ladder, EachCleanupPhaseHasTheWholeBound) {
  Ladder ladder(kPatience, at(0s));
  ladder.on(Event::stop, at(1s));
  // At the last moment of the grace it ends: draining starts anew.
  ladder.on(Event::worker_ended, at(3s - 1ns));
  EXPECT_EQ(ladder.wake().left(at(3s - 1ns)), Span(2s));
  EXPECT_EQ(ladder.on(Event::tick, at(5s - 2ns)), Action::none);
  EXPECT_EQ(ladder.on(Event::tick, at(5s)), Action::give_up);
}

TEST(Ladder, AStopThatIsRepeatedDoesNotProlongTheGrace) {
  Ladder ladder(kPatience, at(0s));
  ladder.on(Event::stop, at(1s));
  EXPECT_EQ(ladder.on(Event::stop, at(2s)), Action::none);
  EXPECT_EQ(ladder.wake().left(at(2s)), Span(1s));
}

TEST(Ladder, WithoutATimeoutTheWorkerMayRunForEver) {
  for (const Patience& patience : {Patience{.timeout = std::nullopt, .cleanup = 2s},
                                   Patience{.timeout = kForever, .cleanup = 2s}}) {
    Ladder ladder(patience, at(0s));
    EXPECT_EQ(ladder.wake().left(at(0s)), std::nullopt);
    EXPECT_EQ(ladder.on(Event::tick, at(kForever - 1ns)), Action::none);
    EXPECT_EQ(ladder.on(Event::stop, at(1h)), Action::terminate);
    EXPECT_EQ(ladder.on(Event::tick, at(1h + 2s)), Action::kill);
  }
}

TEST(Ladder, ACleanupBoundOfForEverNeverGivesUp) {
  Ladder ladder({.timeout = 1s, .cleanup = kForever}, at(0s));
  EXPECT_EQ(ladder.on(Event::tick, at(1s)), Action::terminate);
  EXPECT_EQ(ladder.wake().left(at(1s)), std::nullopt);
  EXPECT_EQ(ladder.on(Event::tick, at(kForever - 1ns)), Action::none);
  EXPECT_EQ(ladder.on(Event::worker_ended, at(5s)), Action::kill);
  EXPECT_EQ(ladder.on(Event::tick, at(kForever - 1ns)), Action::none);
}

TEST(Ladder, OnlyTheDeadlineOverruns) {
  Ladder deadline(kPatience, at(0s));
  deadline.on(Event::tick, at(10s));
  EXPECT_TRUE(deadline.overran());
  Ladder stopped = in(State::grace);
  stopped.on(Event::tick, at(1h));
  EXPECT_FALSE(stopped.overran());
  Ladder ended = in(State::draining);
  ended.on(Event::tick, at(1h));
  EXPECT_FALSE(ended.overran());
}

// The kill of the reaping phase did not end it in time, and then it does end: what is left of its
// group is killed once more, and draining gets its time.
TEST(Ladder, AWorkerThatEndsLateStartsTheDrainingAnew) {
  Ladder ladder = in(State::reaping);
  EXPECT_EQ(ladder.on(Event::tick, at(3s)), Action::kill);
  EXPECT_EQ(ladder.state(), State::draining);
  EXPECT_EQ(ladder.on(Event::worker_ended, at(4s)), Action::kill);
  EXPECT_EQ(ladder.wake().left(at(4s)), Span(2s));
  EXPECT_EQ(ladder.on(Event::worker_ended, at(5s)), Action::none);
  EXPECT_EQ(ladder.on(Event::tick, at(6s)), Action::give_up);
}

}  // namespace
}  // namespace quietus
