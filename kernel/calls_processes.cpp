#include "kernel/calls.hpp"

#include <cerrno>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "kernel/numbers.hpp"
#include "kernel/perform.hpp"

namespace quietus::sys {
namespace {

Span to_span(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

// Only what the kernel filled in counts: pid stays 0 when nothing has changed state.
Result<Waited> wait_for(Gate& gate, int pid, int options) {
  siginfo_t info{};
  rusage usage{};
  const auto answer = call(gate, "waitid", SYS_waitid, pid == 0 ? P_ALL : P_PID, pid, &info,
                           options | WNOHANG | kWaitAll, &usage);
  if (!answer) return tl::unexpected(answer.error());
  Waited waited;
  waited.pid = info.si_pid;
  if (waited.pid == 0) return waited;
  waited.value = info.si_status;
  switch (info.si_code) {
    case CLD_EXITED: waited.kind = Waited::Kind::exited; break;
    case CLD_KILLED:
    case CLD_DUMPED: waited.kind = Waited::Kind::signaled; break;
    case CLD_STOPPED:
    case CLD_TRAPPED: waited.kind = Waited::Kind::stopped; break;
    default: break;
  }
  waited.user = to_span(usage.ru_utime);
  waited.system = to_span(usage.ru_stime);
  waited.peak_rss_kib = usage.ru_maxrss;
  return waited;
}

}  // namespace

Result<int> own_pid(Gate& gate) { return number(call(gate, "getpid", SYS_getpid)); }
Result<int> parent_pid(Gate& gate) { return number(call(gate, "getppid", SYS_getppid)); }
Result<int> process_group(Gate& gate) { return number(call(gate, "getpgid", SYS_getpgid, 0)); }

Result<unsigned> effective_uid(Gate& gate) {
  return call(gate, "geteuid", SYS_geteuid).map([](long id) { return static_cast<unsigned>(id); });
}

Result<unsigned> effective_gid(Gate& gate) {
  return call(gate, "getegid", SYS_getegid).map([](long id) { return static_cast<unsigned>(id); });
}

Result<Forked> fork(Gate& gate, const ForkRequest& request) {
  if (request.cgroup >= 0) {
    CloneArgs args{};
    args.flags = request.namespaces | kCloneIntoCgroup;
    args.exit_signal = SIGCHLD;
    args.cgroup = static_cast<std::uint64_t>(request.cgroup);
    const auto made = once(gate, "clone3", SYS_clone3, &args, sizeof args);
    if (made) return Forked{static_cast<int>(*made), true};
    // Whatever clone3 has against the cgroup, plain clone may serve; its answer is the one that
    // counts.
  }
  // clone(flags | SIGCHLD, no new stack) is fork; the order of the last two arguments, which
  // differs between machines, does not matter when they are zero.
  const auto made = call(gate, "fork", SYS_clone, request.namespaces | SIGCHLD, 0, 0, 0, 0);
  if (!made) return tl::unexpected(made.error());
  return Forked{static_cast<int>(*made), false};
}

Result<Waited> wait_for_exit(Gate& gate, int pid, Peek peek) {
  return wait_for(gate, pid, WEXITED | (peek == Peek::yes ? WNOWAIT : 0));
}

Result<Unit> collect(Gate& gate, int pid) {
  return done(gate, "waitid", SYS_waitid, P_PID, pid, nullptr, WEXITED | kWaitAll, nullptr);
}

Result<Waited> wait_for_stop(Gate& gate, int pid) { return wait_for(gate, pid, WSTOPPED); }

Result<Unit> new_session(Gate& gate) {
  const auto session = call(gate, "setsid", SYS_setsid);
  if (!session) return tl::unexpected(session.error());
  // Its number is ours, so never 0: that is the answer of a filter which only pretends.
  if (*session == 0) return tl::unexpected(Error{ENOSYS, "setsid"});
  return Unit{};
}

Result<Unit> become_subreaper(Gate& gate) {
  return done(gate, "prctl(PR_SET_CHILD_SUBREAPER)", SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

Result<bool> is_subreaper(Gate& gate) {
  int value = 0;
  const auto got = call(gate, "prctl(PR_GET_CHILD_SUBREAPER)", SYS_prctl, PR_GET_CHILD_SUBREAPER,
                        &value, 0, 0, 0);
  if (!got) return tl::unexpected(got.error());
  return value == 1;
}

Result<Unit> set_dumpable(Gate& gate, bool dumpable) {
  return done(gate, "prctl(PR_SET_DUMPABLE)", SYS_prctl, PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0,
              0);
}

Result<bool> is_dumpable(Gate& gate) {
  return call(gate, "prctl(PR_GET_DUMPABLE)", SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0)
      .map([](long value) { return value == 1; });
}

Result<Unit> set_name(Gate& gate, const char* name) {
  return done(gate, "prctl(PR_SET_NAME)", SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
}

Result<Unit> set_parent_death_signal(Gate& gate, int signal) {
  return done(gate, "prctl(PR_SET_PDEATHSIG)", SYS_prctl, PR_SET_PDEATHSIG, signal, 0, 0, 0);
}

Result<Unit> set_no_new_privileges(Gate& gate) {
  return done(gate, "prctl(PR_SET_NO_NEW_PRIVS)", SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

Result<bool> has_no_new_privileges(Gate& gate) {
  return call(gate, "prctl(PR_GET_NO_NEW_PRIVS)", SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
      .map([](long value) { return value == 1; });
}

Result<int> landlock_abi(Gate& gate) {
  return number(call(gate, "landlock_create_ruleset", SYS_landlock_create_ruleset, nullptr, 0,
                     kLandlockCreateRulesetVersion));
}

Result<Unit> restrict_signals(Gate& gate) {
  const LandlockRulesetAttr rules{0, 0, kLandlockScopeSignal};
  const auto made =
      call(gate, "landlock_create_ruleset", SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
  if (!made) return tl::unexpected(made.error());
  const UniqueFd ruleset(gate, static_cast<int>(*made));
  return done(gate, "landlock_restrict_self", SYS_landlock_restrict_self, ruleset.get(), 0);
}

Result<Unit> set_limit(Gate& gate, int resource, std::uint64_t soft, std::uint64_t hard) {
  const std::uint64_t limit[2] = {soft, hard};
  return done(gate, "prlimit64", SYS_prlimit64, 0, resource, limit, nullptr);
}

Result<Unit> clear_groups(Gate& gate) { return done(gate, "setgroups", SYS_setgroups, 0, nullptr); }

Result<Unit> set_gid(Gate& gate, unsigned gid) {
  return done(gate, "setresgid", SYS_setresgid, gid, gid, gid);
}

Result<Unit> set_uid(Gate& gate, unsigned uid) {
  return done(gate, "setresuid", SYS_setresuid, uid, uid, uid);
}

Error execute(Gate& gate, const char* path, const char* const* argv, const char* const* envp) {
  return call(gate, "execve", SYS_execve, path, argv, envp).error();
}

void exit_now(Gate& gate, int code) {
  // The kernel does not refuse this; a test's gate might, once.
  for (;;) (void)once(gate, "exit_group", SYS_exit_group, code);
}

}  // namespace quietus::sys
