#include "session/recovery.hpp"

#include <algorithm>
#include <csignal>
#include <vector>

#include "contract/decimal.hpp"
#include "kernel/process_table.hpp"
#include "supervisor/cgroup.hpp"
#include "supervisor/launch.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kEnvironmentLimit = std::size_t{4} << 20;
constexpr Span kScanTime = 500ms;
constexpr Span kPause = 2ms;

class Sweep {
 public:
  Sweep(sys::Gate& gate, const SessionDirectory& directory, int self)
      : gate_(gate), id_(directory.id()), self_(self) {}

  // One round over /proc. Whether somebody was found.
  sys::Result<bool> round(Moment now, int& killed) {
    const auto rows = sys::scan_processes(gate_, now + kScanTime);
    if (!rows) return tl::unexpected(rows.error());
    std::vector<int> sessions;
    std::vector<const sys::StatRow*> ours;
    for (const sys::StatRow& row : *rows) {
      if (row.pid == self_ || row.state == 'Z' || !marked(row.pid)) continue;
      ours.push_back(&row);
      // A session that this PID namespace cannot see has the number 0, as strangers' sessions have.
      if (row.sid > 0) sessions.push_back(row.sid);
    }
    for (const sys::StatRow& row : *rows) {
      const bool shares = std::ranges::count(sessions, row.sid) != 0;
      const bool known = std::ranges::count(ours, &row) != 0;
      if (shares && !known && row.pid != self_ && row.state != 'Z') ours.push_back(&row);
    }
    for (const sys::StatRow* row : ours) killed += end(*row) ? 1 : 0;
    return !ours.empty();
  }

 private:
  bool marked(int pid) {
    const std::string path = "/proc/" + decimal(pid) + "/environ";
    const auto environment = sys::read_file(gate_, path.c_str(), kEnvironmentLimit);
    return environment && carries_marker(*environment, id_);
  }

  // Held by a pidfd, then seen to be the one that was found.
  bool end(const sys::StatRow& row) {
    const auto held = sys::open_pidfd(gate_, row.pid);
    const auto again = sys::read_stat(gate_, row.pid);
    if (!again || again->start_ticks != row.start_ticks) return false;
    const auto sent =
        held ? sys::signal_pidfd(gate_, held->get(), SIGKILL) : sys::kill(gate_, row.pid, SIGKILL);
    return sent.has_value();
  }

  sys::Gate& gate_;
  const std::string& id_;
  int self_;
};

}  // namespace

Recovery recover(sys::Gate& gate, const SessionDirectory& directory, Deadline deadline) {
  Recovery recovery;
  auto leaf = Cgroup::find(gate, directory.leaf(gate));
  const auto self = sys::own_pid(gate);
  if (!self || !sys::proc_is_ours(gate, *self)) {
    recovery.why = "there is no /proc of this PID namespace to find its processes in";
    return recovery;
  }
  Sweep sweep(gate, directory, *self);
  Moment now = sys::now(gate);
  for (;;) {
    if (leaf) (void)leaf->kill(gate);
    const auto found = sweep.round(now, recovery.killed);
    if (!found) {
      recovery.why = "/proc cannot be read: " + sys::errno_text(found.error().code, {});
      return recovery;
    }
    const bool populated = leaf && leaf->populated(gate).value_or(true);
    if (!*found && !populated) {
      recovery.all_gone = true;
      recovery.proven = leaf.has_value();
      break;
    }
    now = sys::now(gate, now);
    if (deadline.passed(now)) {
      recovery.why = "processes of the session remain alive";
      return recovery;
    }
    (void)sys::sleep(gate, kPause);  // they are dying; no event tells of those that are not ours
  }
  if (leaf) (void)leaf->remove(gate);
  if (!recovery.proven) {
    recovery.why = "a process that changed its environment and its session cannot be excluded";
  }
  return recovery;
}

}  // namespace quietus
