#include "program/demonstration.hpp"

#include <csignal>

#include <fcntl.h>
#include <sys/syscall.h>

#include "contract/exit_code.hpp"
#include "program/bounded.hpp"
#include "program/trial.hpp"
#include "supervisor/descriptors.hpp"
#include "supervisor/guardian.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr Span kBeat = 1ms;
constexpr Span kWholeTime = 30s;  // after which everybody leaves, whatever happens
constexpr Span kBegin = 10s;      // until everybody has a heartbeat
constexpr Span kAsked = 200ms;    // between the request to end and the order
constexpr Span kCleanup = 3s;     // the engine's patience with each of its phases
constexpr Span kStandstill = 100ms;
constexpr Span kAgain = 10ms;
constexpr std::size_t kReceiptLimit = 4096;

struct Theatre {
  SharedWord over;  // not zero: everybody leaves at once
  SharedWord beats[kRoleCount];
};

// --- the actors --------------------------------------------------------------------------------

class Actors {
 public:
  Actors(sys::Gate& gate, Theatre& stage) : gate_(gate), stage_(stage), begun_(sys::now(gate)) {}

  // What the engine takes for its worker: it starts the others, then ignores the request to end.
  [[noreturn]] void perform() {
    // As exec would have it, and that is what tells the engine that the program runs.
    (void)sys::close_from(gate_, 3);
    (void)sys::ignore_signal(gate_, SIGTERM);
    start(&Actors::be_daemon);
    start(&Actors::be_hopper);
    start(&Actors::be_holder);
    let_go_of(0, 2);
    beat_on(kStubborn);
  }

 private:
  void start(void (Actors::*role)()) {
    const auto forked = sys::fork(gate_);
    if (forked && forked->pid == 0) (this->*role)();
  }

  // daemon(3): a session of its own, and no parent but the subreaper.
  void detach() {
    (void)sys::new_session(gate_);
    const auto forked = sys::fork(gate_);
    if (!forked || forked->pid != 0) sys::exit_now(gate_, 0);
  }

  void be_daemon() {
    detach();
    let_go_of(0, 2);
    beat_on(kDaemon);
  }

  void be_holder() {
    detach();
    let_go_of(0, 0);
    let_go_of(2, 2);
    beat_on(kHolder);
  }

  // A thousand short lives a second, each in a session of its own.
  void be_hopper() {
    let_go_of(0, 2);
    while (beat(kHopper)) {
      const auto forked = sys::fork(gate_);
      if (!forked) continue;
      if (forked->pid != 0) break;
      (void)sys::new_session(gate_);
    }
    sys::exit_now(gate_, 0);
  }

  void let_go_of(int first, int last) {
    for (int fd = first; fd <= last; ++fd) (void)sys::close_now(gate_, fd);
  }

  bool beat(Role role) {
    stage_.beats[role].add(1);
    rest(gate_, kBeat);
    return stage_.over.get() == 0 && sys::now(gate_, begun_) - begun_ < kWholeTime;
  }

  [[noreturn]] void beat_on(Role role) {
    while (beat(role)) {
    }
    sys::exit_now(gate_, 0);
  }

  sys::Gate& gate_;
  Theatre& stage_;
  Moment begun_;
};

// Lets the engine's worker be a function.
class StageDoor final : public sys::Gate {
 public:
  explicit StageDoor(Theatre& stage) : stage_(stage) {}
  long perform(const sys::Request& request) noexcept override {
    if (request.number == SYS_execve) {
      sys::Gate plain;
      Actors(plain, stage_).perform();
    }
    return Gate::perform(request);
  }

 private:
  Theatre& stage_;
};

// --- the audience ------------------------------------------------------------------------------

class Audience {
 public:
  Audience(sys::Gate& gate, Theatre& stage) : gate_(gate), stage_(stage) {}

  void watch(const Method& method, Demonstration& seen) {
    const auto self = sys::own_pid(gate_);
    auto pipe = sys::pipe(gate_);
    if (!self) return seen.not_begun(self.error());
    if (!pipe) return seen.not_begun(pipe.error());
    const auto forked = sys::fork(gate_);
    if (!forked) return seen.not_begun(forked.error());
    if (forked->pid == 0) {
      const int end = pipe->second.get();
      const bool wired = sys::duplicate_onto(gate_, end, 1) && sys::duplicate_onto(gate_, end, 2);
      if (wired) run_engine(method, *self);
      sys::exit_now(gate_, kExitFailed);
    }
    engine_ = forked->pid;
    pipe->second.reset();

    (void)comes_true(gate_, kBegin, [&] {
      seen.lived |= moved();
      return seen.lived == kEverybody || engine_ended();
    });
    ask_to_end(seen);
    order_to_end(seen);
    count();
    (void)comes_true(gate_, kStandstill, [] { return false; });
    seen.ended = seen.lived & ~moved();
    listen(pipe->first.get(), seen);
    leave();
    if (method.receipt.empty()) return;
    if (auto receipt = sys::read_file(gate_, method.receipt.c_str(), kReceiptLimit)) {
      seen.receipt.swap(*receipt);
    }
    (void)sys::unlink_at(gate_, AT_FDCWD, method.receipt.c_str());
  }

 private:
  [[noreturn]] void run_engine(const Method& method, int parent) {
    settle_descriptors(gate_);
    // A caller that is not interrupted (a script's background) must not make the engine deaf.
    (void)sys::reset_signal(gate_, SIGINT);
    Options options;
    options.cleanup_timeout = kCleanup;
    options.shield = method.shield ? Shield::attempt : Shield::off;
    options.isolate = method.isolate;
    options.die_with_parent = sys::set_parent_death_signal(gate_, 0).has_value();
    options.verbosity = 1;
    options.receipt = method.receipt;
    options.worker.argv = {"/a function of the doctor"};
    StageDoor door(stage_);
    sys::exit_now(gate_, supervise(door, options, parent));
  }

  // The engine is our child, and not collected before engine_ended() says so.
  void ask_to_end(Demonstration& seen) {
    if (engine_ended()) return;
    (void)sys::kill(gate_, engine_, SIGINT);
    (void)comes_true(gate_, kAsked, [&] { return engine_ended(); });
    count();
    (void)comes_true(gate_, kBegin, [&] {
      seen.ignored |= moved();
      return seen.ignored == seen.lived || engine_ended();
    });
  }

  // A second interrupt means "now"; sent again, in case two of them became one.
  void order_to_end(Demonstration& seen) {
    const Moment start = sys::now(gate_);
    (void)comes_true(gate_, 3 * kCleanup, [&] {
      if (!engine_ended()) (void)sys::kill(gate_, engine_, SIGINT);
      return comes_true(gate_, kAgain, [&] { return engine_ended(); });
    });
    seen.took = sys::now(gate_, start) - start;
    if (ended_ && ended_->kind == sys::Waited::Kind::exited) seen.exit_code = ended_->value;
  }

  // Whatever the engine could not end leaves by itself, and then the engine ends.
  void leave() {
    stage_.over.set(1);
    if (!comes_true(gate_, 3 * kCleanup, [&] { return engine_ended(); })) {
      (void)end_child(gate_, engine_);
    }
  }

  bool engine_ended() {
    if (ended_) return true;
    const auto waited = sys::wait_for_exit(gate_, engine_, sys::Peek::no);
    if (!waited) ended_.emplace();  // not to be seen any more: as good as ended
    if (waited && waited->pid == engine_) ended_ = *waited;
    return ended_.has_value();
  }

  void count() {
    for (int at = 0; at < kRoleCount; ++at) counted_[at] = stage_.beats[at].get();
  }
  // Who has had a heartbeat since count().
  Roles moved() const {
    Roles moved = 0;
    for (int at = 0; at < kRoleCount; ++at) {
      if (stage_.beats[at].get() != counted_[at]) moved |= 1u << at;
    }
    return moved;
  }

  // To the end, but without waiting: whoever still holds the other end must not hold us.
  void listen(int pipe, Demonstration& seen) {
    char text[1024];
    if (!sys::set_nonblocking(gate_, pipe)) return;
    while (const auto got = sys::read(gate_, pipe, text)) {
      seen.pipe_at_end = *got == 0;
      if (seen.pipe_at_end) return;
      seen.message.append(text, *got);
    }
  }

  sys::Gate& gate_;
  Theatre& stage_;
  int engine_ = 0;
  std::optional<sys::Waited> ended_;
  int counted_[kRoleCount] = {};
};

}  // namespace

void Demonstration::not_begun(const sys::Error& why) {
  message = sys::errno_text(why.code, why.call);
}

Demonstration demonstrate(sys::Gate& gate, const Method& method) {
  Demonstration seen;
  const auto stage = make_shared_object<Theatre>(gate);
  stage ? Audience(gate, **stage).watch(method, seen) : seen.not_begun(stage.error());
  return seen;
}

}  // namespace quietus
