// How the calls_*.cpp files speak to the Gate. For them alone.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernel/error.hpp"
#include "kernel/gate.hpp"

namespace quietus::sys {

// One request, as it is: for the calls whose EINTR is an answer.
Result<long> once(Gate& gate, const char* name, const Request& request);

// The one place where EINTR is retried, with a bound.
Result<long> call(Gate& gate, const char* name, const Request& request);

// The answers as the typed functions give them.
Result<Unit> unit(const Result<long>& answer);
Result<int> number(const Result<long>& answer);
Result<std::size_t> count(const Result<long>& answer);

// call(), for what has nothing to say but that it worked.
Result<Unit> done(Gate& gate, const char* name, const Request& request);

template <class T>
long as_argument(T value) {
  if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>) {
    return reinterpret_cast<long>(static_cast<const volatile void*>(value));
  } else {
    return static_cast<long>(value);
  }
}

template <class... Args>
Result<long> once(Gate& gate, const char* name, long number, Args... args) {
  return once(gate, name, Request{number, {as_argument(args)...}});
}

template <class... Args>
Result<long> call(Gate& gate, const char* name, long number, Args... args) {
  return call(gate, name, Request{number, {as_argument(args)...}});
}

template <class... Args>
Result<Unit> done(Gate& gate, const char* name, long number, Args... args) {
  return done(gate, name, Request{number, {as_argument(args)...}});
}

}  // namespace quietus::sys
