#include "supervisor/child_side.hpp"

#include <cerrno>
#include <iterator>
#include <new>

#include <fcntl.h>

namespace quietus {
namespace {

constexpr int kExitLaunchFailed = 127;

[[noreturn]] void fail(sys::Gate& gate, const ChildPlan& plan, Stage stage, int code) {
  plan.board->add({stage, code, true});
  sys::exit_now(gate, kExitLaunchFailed);
}

// Let the OOM killer prefer the worker to us. Raising needs no privilege; where it is refused,
// things are as they were.
void prefer_as_oom_victim(sys::Gate& gate) {
  constexpr int kMore = 200;
  constexpr int kMost = 1000;
  const auto file = sys::open(gate, "/proc/self/oom_score_adj", O_RDWR);
  if (!file) return;
  char text[16];
  const auto got = sys::read(gate, file->get(), text);
  if (!got) return;
  int score = 0;
  const bool negative = *got > 0 && text[0] == '-';
  for (std::size_t at = negative ? 1 : 0; at < *got && text[at] >= '0' && text[at] <= '9'; ++at) {
    score = score * 10 + (text[at] - '0');
  }
  score = (negative ? -score : score) + kMore;
  if (score > kMost) score = kMost;
  char* end = text + sizeof text;
  char* digit = end;
  for (int left = score < 0 ? -score : score; digit == end || left > 0; left /= 10) {
    *--digit = static_cast<char>('0' + left % 10);
  }
  if (score < 0) *--digit = '-';
  (void)sys::write(gate, file->get(), {digit, static_cast<std::size_t>(end - digit)});
}

// PATH was searched before the fork; which of the candidates serves only the kernel knows. As
// execvp(3): a permission that is lacking is remembered, a name that is not there goes on.
[[noreturn]] void run_program(sys::Gate& gate, const ChildPlan& plan) {
  int code = ENOENT;
  const char* const* environment = plan.environment;
  for (const char* const* path = plan.candidates; *path != nullptr; ++path) {
    int error = sys::execute(gate, *path, plan.argv, environment).code;
    if (error == E2BIG && environment != plan.plain_environment) {
      // Our marker was the straw that broke it: the worker's arguments go first.
      plan.board->add({Stage::environment, error, false});
      environment = plan.plain_environment;
      error = sys::execute(gate, *path, plan.argv, environment).code;
    }
    if (error == EACCES) code = EACCES;
    if (error == ENOENT || error == ENOTDIR || error == EACCES) continue;
    fail(gate, plan, Stage::exec, error);
  }
  fail(gate, plan, Stage::exec, code);
}

}  // namespace

const char* name(Stage stage) {
  switch (stage) {
    case Stage::session: return "setsid";
    case Stage::cgroup: return "cgroup.procs";
    case Stage::shield: return "landlock";
    case Stage::limit: return "rlimit";
    case Stage::groups: return "setgroups";
    case Stage::gid: return "setgid";
    case Stage::uid: return "setuid";
    case Stage::directory: return "chdir";
    case Stage::privileges: return "no_new_privs";
    case Stage::descriptors: return "dup";
    case Stage::exec: return "exec";
    case Stage::environment: return "environment marker";
  }
  return "launch";
}

sys::Result<LaunchBoard*> LaunchBoard::create(sys::Gate& gate) {
  return sys::map_shared(gate, sizeof(LaunchBoard)).map([](void* memory) {
    return new (memory) LaunchBoard;
  });
}

void LaunchBoard::add(const LaunchMessage& message) {
  if (count_ == static_cast<std::int32_t>(std::size(messages_))) return;
  messages_[count_] = message;
  __atomic_store_n(&count_, count_ + 1, __ATOMIC_RELEASE);
}

std::span<const LaunchMessage> LaunchBoard::messages() const {
  const auto count = __atomic_load_n(&count_, __ATOMIC_ACQUIRE);
  return {messages_, static_cast<std::size_t>(count)};
}

void run_child(sys::Gate& gate, const ChildPlan& plan) {
  if (const auto made = sys::new_session(gate); !made) {
    fail(gate, plan, Stage::session, made.error().code);
  }
  if (plan.cgroup_procs != nullptr) {
    const auto joined = sys::write_file(gate, plan.cgroup_procs, "0");
    if (!joined) {
      // An empty leaf beside a worker that runs would prove an end that never was. It is empty, so
      // it can go; if not, nothing starts.
      const bool gone = sys::remove_directory(gate, plan.cgroup_leaf).has_value();
      if (!gone) fail(gate, plan, Stage::cgroup, joined.error().code);
      plan.board->add({Stage::cgroup, joined.error().code, false});
    }
  }
  // Our halves hide their memory from the worker's user; the worker itself is as ordinary as any
  // other process. Before oom_score_adj, which belongs to root otherwise.
  (void)sys::set_dumpable(gate, true);
  prefer_as_oom_victim(gate);

  if (plan.no_new_privileges) {
    const auto set = sys::set_no_new_privileges(gate);
    if (!set) fail(gate, plan, Stage::privileges, set.error().code);
  }
  if (plan.shield) {
    const auto entered = sys::restrict_signals(gate);
    if (!entered) fail(gate, plan, Stage::shield, entered.error().code);
  }
  for (const ResourceLimit& limit : plan.limits) {
    const auto set = sys::set_limit(gate, limit.resource, limit.soft, limit.hard);
    if (!set) fail(gate, plan, Stage::limit, set.error().code);
  }
  if (plan.change_user) {
    if (const auto done = sys::clear_groups(gate); !done) {
      fail(gate, plan, Stage::groups, done.error().code);
    }
    if (const auto done = sys::set_gid(gate, plan.gid); !done) {
      fail(gate, plan, Stage::gid, done.error().code);
    }
    if (const auto done = sys::set_uid(gate, plan.uid); !done) {
      fail(gate, plan, Stage::uid, done.error().code);
    }
  }
  if (plan.directory != nullptr) {
    const auto changed = sys::change_directory(gate, plan.directory);
    if (!changed) fail(gate, plan, Stage::directory, changed.error().code);
  }
  if (plan.input >= 0) {
    const auto wired = sys::duplicate_onto(gate, plan.input, 0);
    if (!wired) fail(gate, plan, Stage::descriptors, wired.error().code);
  }
  if (plan.output >= 0) {
    for (const int target : {1, 2}) {
      const auto wired = sys::duplicate_onto(gate, plan.output, target);
      if (!wired) fail(gate, plan, Stage::descriptors, wired.error().code);
    }
  }
  for (int signal = 1; signal <= kLastSignal; ++signal) {
    if (plan.ignored.has(signal)) (void)sys::reset_signal(gate, signal);
  }
  (void)sys::unblock_all_signals(gate);
  run_program(gate, plan);
}

}  // namespace quietus
