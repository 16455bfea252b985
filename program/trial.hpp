// The answer to "does it work here?", as a trial gave it. Plain data, which a child can leave in
// memory that it shares with us.
#pragma once

#include "kernel/error.hpp"

namespace quietus {

struct Trial {
  bool works = false;
  int error = 0;
  // Does not work: the call that failed with that errno, or (0) what was seen instead.
  const char* step = nullptr;
  // Works only after this was given up or asked for: no_new_privs, a user namespace.
  const char* needs = nullptr;
  const char* note = nullptr;
  int word = 0;  // between the processes of one trial

  void failed(const sys::Error& why) { step = why.call, error = why.code; }
  void failed(const char* what) { step = what; }
};

}  // namespace quietus
