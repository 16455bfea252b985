#include "kernel/calls.hpp"

#include <csignal>

#include <sys/signalfd.h>

#include "kernel/numbers.hpp"
#include "kernel/perform.hpp"

namespace quietus::sys {
namespace {

Result<Unit> set_mask(Gate& gate, int how, std::uint64_t bits) {
  return done(gate, "rt_sigprocmask", SYS_rt_sigprocmask, how, &bits, nullptr, sizeof bits);
}

Result<Unit> set_action(Gate& gate, int signal, std::uintptr_t handler) {
  const KernelSigaction action{handler, 0, 0, 0};
  return done(gate, "rt_sigaction", SYS_rt_sigaction, signal, &action, nullptr, sizeof action.mask);
}

}  // namespace

Result<Unit> block_signals(Gate& gate, SignalSet set) {
  return set_mask(gate, SIG_BLOCK, set.bits());
}

Result<Unit> unblock_all_signals(Gate& gate) { return set_mask(gate, SIG_SETMASK, 0); }

Result<bool> is_ignored(Gate& gate, int signal) {
  KernelSigaction action{};
  const auto got =
      call(gate, "rt_sigaction", SYS_rt_sigaction, signal, nullptr, &action, sizeof action.mask);
  if (!got) return tl::unexpected(got.error());
  return action.handler == kSigIgnore;
}

Result<Unit> reset_signal(Gate& gate, int signal) { return set_action(gate, signal, kSigDefault); }

Result<Unit> ignore_signal(Gate& gate, int signal) { return set_action(gate, signal, kSigIgnore); }

Result<UniqueFd> signal_fd(Gate& gate, SignalSet set) {
  const std::uint64_t bits = set.bits();
  const auto made =
      call(gate, "signalfd4", SYS_signalfd4, -1, &bits, sizeof bits, SFD_CLOEXEC | SFD_NONBLOCK);
  if (!made) return tl::unexpected(made.error());
  return UniqueFd(gate, static_cast<int>(*made));
}

Result<Received> read_signal(Gate& gate, int fd) {
  signalfd_siginfo info{};
  const auto got = read(gate, fd, {reinterpret_cast<char*>(&info), sizeof info});
  if (!got) return tl::unexpected(got.error());
  if (*got != sizeof info) return tl::unexpected(Error{EAGAIN, "read"});
  return Received{static_cast<int>(info.ssi_signo), static_cast<int>(info.ssi_pid)};
}

Result<Unit> kill(Gate& gate, int pid, int signal) {
  return done(gate, "kill", SYS_kill, pid, signal);
}

Result<UniqueFd> open_pidfd(Gate& gate, int pid) {
  const auto made = call(gate, "pidfd_open", SYS_pidfd_open, pid, 0);
  if (!made) return tl::unexpected(made.error());
  return UniqueFd(gate, static_cast<int>(*made));
}

Result<Unit> signal_pidfd(Gate& gate, int pidfd, int signal) {
  return done(gate, "pidfd_send_signal", SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

}  // namespace quietus::sys
