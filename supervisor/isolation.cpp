#include "supervisor/isolation.hpp"

#include <cerrno>
#include <string>

#include "contract/decimal.hpp"
#include "kernel/numbers.hpp"

namespace quietus {
namespace {

constexpr std::uint64_t kPrivate = sys::kCloneNewPid | sys::kCloneNewNs;

// user_namespaces(7): one line, our own number on both sides; groups are given up first.
sys::Result<sys::Unit> map_own_ids(sys::Gate& gate, unsigned uid, unsigned gid) {
  const auto map = [](unsigned id) { return decimal(id) + ' ' + decimal(id) + " 1"; };
  if (const auto done = sys::write_file(gate, "/proc/self/setgroups", "deny"); !done) return done;
  if (const auto done = sys::write_file(gate, "/proc/self/uid_map", map(uid)); !done) return done;
  return sys::write_file(gate, "/proc/self/gid_map", map(gid));
}

}  // namespace

sys::Result<sys::Forked> fork_isolated(sys::Gate& gate) {
  const auto forked = sys::fork(gate, {.namespaces = kPrivate, .cgroup = -1});
  if (forked || !sys::denied(forked.error())) return forked;
  const auto uid = sys::effective_uid(gate);
  const auto gid = sys::effective_gid(gate);
  if (!uid || !gid) return tl::unexpected(uid ? gid.error() : uid.error());
  const auto in_user_namespace =
      sys::fork(gate, {.namespaces = kPrivate | sys::kCloneNewUser, .cgroup = -1});
  if (in_user_namespace && in_user_namespace->pid == 0) {
    // Unmapped we would be nobody, and could read nothing.
    if (!map_own_ids(gate, *uid, *gid)) sys::exit_now(gate, 1);
  }
  return in_user_namespace;
}

sys::Result<sys::Unit> mount_own_proc(sys::Gate& gate) {
  // Only what is mounted over /proc must stay with us. Where that is no mount point of its own, the
  // root has to do; in a chroot that in turn is none.
  auto hidden = sys::keep_mounts_private(gate, "/proc");
  if (!hidden) hidden = sys::keep_mounts_private(gate, "/");
  if (!hidden) return hidden;
  return sys::mount_proc(gate);
}

}  // namespace quietus
