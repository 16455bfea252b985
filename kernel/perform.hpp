// How the calls_*.cpp files speak to the Gate. For them alone.
#pragma once

#include <cerrno>
#include <type_traits>

#include "kernel/error.hpp"
#include "kernel/gate.hpp"

namespace quietus::sys {

template <class T>
long as_argument(T value) {
  if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>) {
    return reinterpret_cast<long>(static_cast<const volatile void*>(value));
  } else {
    return static_cast<long>(value);
  }
}

// One request, as it is: for the calls whose EINTR is an answer.
template <class... Args>
Result<long> once(Gate& gate, const char* name, long number, Args... args) {
  const long answer = gate.perform(Request{number, {as_argument(args)...}});
  if (answer < 0) return tl::unexpected(Error{static_cast<int>(-answer), name});
  return answer;
}

// The one place where EINTR is retried, and its bound: every signal is blocked, so more than a few
// in a row mean that something is wrong.
inline constexpr int kInterruptions = 100;

template <class... Args>
Result<long> call(Gate& gate, const char* name, long number, Args... args) {
  Result<long> answer = once(gate, name, number, args...);
  for (int tries = 0; !answer && answer.error().code == EINTR && tries < kInterruptions; ++tries) {
    answer = once(gate, name, number, args...);
  }
  return answer;
}

}  // namespace quietus::sys
