#include "kernel/perform.hpp"

#include <cerrno>

namespace quietus::sys {

Result<long> once(Gate& gate, const char* name, const Request& request) {
  const long answer = gate.perform(request);
  if (answer < 0) return tl::unexpected(Error{static_cast<int>(-answer), name});
  return answer;
}

Result<long> call(Gate& gate, const char* name, const Request& request) {
  // Every signal is blocked, so more than a few interruptions in a row mean that something is
  // wrong, and then the caller has to know.
  constexpr int kInterruptions = 100;
  Result<long> answer = once(gate, name, request);
  for (int tries = 0; !answer && answer.error().code == EINTR && tries < kInterruptions; ++tries) {
    answer = once(gate, name, request);
  }
  return answer;
}

Result<Unit> unit(const Result<long>& answer) {
  if (!answer) return tl::unexpected(answer.error());
  return Unit{};
}

Result<int> number(const Result<long>& answer) {
  if (!answer) return tl::unexpected(answer.error());
  return static_cast<int>(*answer);
}

Result<std::size_t> count(const Result<long>& answer) {
  if (!answer) return tl::unexpected(answer.error());
  return static_cast<std::size_t>(*answer);
}

Result<Unit> done(Gate& gate, const char* name, const Request& request) {
  return unit(call(gate, name, request));
}

}  // namespace quietus::sys
