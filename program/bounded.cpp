#include "program/bounded.hpp"

#include <cerrno>
#include <csignal>

#include "contract/decimal.hpp"
#include "supervisor/record.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr Span kInChild = 8s;
constexpr Span kDying = 2s;
constexpr Span kSitting = 5s;

}  // namespace

void rest(sys::Gate& gate, Span span) {
  if (!sys::sleep(gate, span)) (void)sys::poll(gate, {}, span);
}

bool comes_true(sys::Gate& gate, Span bound, Call condition) {
  constexpr Span kNap = 250us;
  constexpr int kQuestions = 1 << 22;
  const Moment start = sys::now(gate);
  for (int question = 0; question < kQuestions; ++question) {
    if (condition()) return true;
    if (sys::now(gate, start) - start >= bound) return false;
    rest(gate, kNap);
  }
  return false;
}

sys::Result<sys::Waited> await_end(sys::Gate& gate, int pid, Span bound) {
  sys::Result<sys::Waited> ended;
  const bool known = comes_true(gate, bound, [&] {
    ended = sys::wait_for_exit(gate, pid, sys::Peek::no);
    return !ended || ended->pid == pid;
  });
  if (known) return ended;
  return tl::unexpected(sys::Error{ETIMEDOUT, "waitid"});
}

bool end_child(sys::Gate& gate, int pid) {
  if (!sys::kill(gate, pid, SIGKILL)) return false;
  const auto ended = await_end(gate, pid, kDying);
  return ended && ended->kind == sys::Waited::Kind::signaled && ended->value == SIGKILL;
}

std::string own_name(sys::Gate& gate) {
  const auto token = make_token(gate);
  return token ? *token : decimal(sys::own_pid(gate).value_or(0));
}

sys::Result<sys::Unit> in_child(sys::Gate& gate, Call call) {
  const auto forked = sys::fork(gate);
  if (!forked) return tl::unexpected(forked.error());
  if (forked->pid == 0) {
    (void)call();
    sys::exit_now(gate, 0);
  }
  const auto ended = await_end(gate, forked->pid, kInChild);
  if (ended) return sys::Unit{};
  // "No such child" means that the number may be a stranger's by now.
  if (!sys::gone(ended.error())) (void)end_child(gate, forked->pid);
  return tl::unexpected(ended.error());
}

void sit(sys::Gate& gate) {
  rest(gate, kSitting);
  sys::exit_now(gate, 0);
}

sys::Result<sys::Forked> fork_sitter(sys::Gate& gate, const Seat& seat) {
  const auto forked = sys::fork(gate, {.namespaces = 0, .cgroup = seat.cgroup});
  if (!forked || forked->pid != 0) return forked;
  (void)sys::set_parent_death_signal(gate, SIGKILL);
  if (seat.procs != nullptr && !forked->in_cgroup) (void)sys::write_file(gate, seat.procs, "0");
  sit(gate);
}

}  // namespace quietus
