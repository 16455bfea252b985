// Numbers and structures of the kernel's interface that the oldest headers we build with lack.
// Debian 12's musl has 5.16 and its glibc 2.36; both know the system call numbers used here by
// themselves except where stated.
#pragma once

#include <cstdint>

#include <sys/syscall.h>

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

namespace quietus::sys {

// clone(2)
inline constexpr std::uint64_t kCloneNewNs = 0x00020000;
inline constexpr std::uint64_t kCloneNewUser = 0x10000000;
inline constexpr std::uint64_t kCloneNewPid = 0x20000000;
inline constexpr std::uint64_t kCloneIntoCgroup = 0x200000000;

struct CloneArgs {
  std::uint64_t flags;
  std::uint64_t pidfd;
  std::uint64_t child_tid;
  std::uint64_t parent_tid;
  std::uint64_t exit_signal;
  std::uint64_t stack;
  std::uint64_t stack_size;
  std::uint64_t tls;
  std::uint64_t set_tid;
  std::uint64_t set_tid_size;
  std::uint64_t cgroup;
};

// rt_sigaction(2): the kernel's structure, not the C library's.
struct KernelSigaction {
  std::uintptr_t handler;
  unsigned long flags;
  std::uintptr_t restorer;
  std::uint64_t mask;
};
inline constexpr std::uintptr_t kSigDefault = 0;
inline constexpr std::uintptr_t kSigIgnore = 1;

// landlock(7)
struct LandlockRulesetAttr {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;
  std::uint64_t scoped;
};
inline constexpr long kLandlockCreateRulesetVersion = 1;
inline constexpr std::uint64_t kLandlockScopeSignal = 2;
inline constexpr int kLandlockScopeAbi = 6;

// waitid(2): children of every kind, not only those that end with SIGCHLD.
inline constexpr int kWaitAll = 0x40000000;

}  // namespace quietus::sys
