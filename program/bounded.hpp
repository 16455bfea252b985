// Children that end. What might hang, be killed or change the process that does it is done in a
// child, for a bounded time; everybody forked here ends by itself, even if we are killed.
#pragma once

#include <new>
#include <string>
#include <type_traits>

#include "kernel/calls.hpp"

namespace quietus {

// Sleeps at most so long, by whatever call works here.
void rest(sys::Gate& gate, Span span);

// Code to be called by a function below, before that returns. The answer counts where one is asked.
class Call {
 public:
  template <class Callable>
  Call(const Callable& callable)
      : object_(&callable), call_([](const void* object) -> bool {
          return (*static_cast<const Callable*>(object))();
        }) {}
  bool operator()() const { return call_(object_); }

 private:
  const void* object_;
  bool (*call_)(const void*);
};

// Asks until the condition holds, for at most so long. Where neither a clock nor a sleep is to be
// had, the questions are counted instead.
bool comes_true(sys::Gate& gate, Span bound, Call condition);

// Waits for a child of ours. ETIMEDOUT: it has not ended within the bound.
sys::Result<sys::Waited> await_end(sys::Gate& gate, int pid, Span bound);

// Kills a child of ours that has not been collected: the number is its own. True: it died of that.
bool end_child(sys::Gate& gate, int pid);

// A name for something of ours: random where that can be had.
std::string own_name(sys::Gate& gate);

// Makes the call in a child and waits for its end; a child that takes too long is killed.
sys::Result<sys::Unit> in_child(sys::Gate& gate, Call call);

// Does nothing until it is killed, or some seconds are over.
[[noreturn]] void sit(sys::Gate& gate);

// A child that sits, and also ends when its parent has ended.
struct Seat {
  int cgroup = -1;              // directory to be born in
  const char* procs = nullptr;  // its cgroup.procs, to join by hand where that does not serve
};
sys::Result<sys::Forked> fork_sitter(sys::Gate& gate, const Seat& seat = {});

// An object that we share with the children forked later; it stays to the end of the process.
template <class T>
sys::Result<T*> make_shared_object(sys::Gate& gate) {
  static_assert(std::is_trivially_destructible_v<T>);
  return sys::map_shared(gate, sizeof(T)).map([](void* memory) { return new (memory) T(); });
}

}  // namespace quietus
