// The answer to "does it work here?", as a trial gave it. Plain data, which a child can leave in
// memory that it shares with us.
#pragma once

#include "contract/time.hpp"
#include "kernel/error.hpp"

namespace quietus {

// A number that one process writes and another reads; <atomic> does not come without threads.
class SharedWord {
 public:
  void set(int value) { __atomic_store_n(&value_, value, __ATOMIC_RELEASE); }
  [[nodiscard]] int get() const { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
  void add(int value) { __atomic_fetch_add(&value_, value, __ATOMIC_RELAXED); }

 private:
  int value_ = 0;
};

constexpr Span kEffect = std::chrono::seconds(2);  // how long an effect may take to show
constexpr const char* kNoEffect = "it has no effect";

struct Trial {
  bool works = false;
  int error = 0;
  // Does not work: the call that failed with that errno, or (0) what was seen instead.
  const char* step = nullptr;
  // Works only after this was given up or asked for: no_new_privs, a user namespace.
  const char* needs = nullptr;
  const char* note = nullptr;
  SharedWord word;  // between the processes of one trial

  void failed(const sys::Error& why) { step = why.call, error = why.code; }
  void failed(const char* what) { step = what; }
};

}  // namespace quietus
