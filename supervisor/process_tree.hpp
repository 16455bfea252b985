// Whom to signal, and whether anybody is left. One object per half: it speaks of the children of
// the process that made it. Knows the four means of killing and how to fall from one to the next;
// only prove_empty makes a Proof.
#pragma once

#include <optional>
#include <vector>

#include "contract/outcome.hpp"
#include "contract/time.hpp"
#include "kernel/calls.hpp"
#include "kernel/process_table.hpp"
#include "supervisor/cgroup.hpp"
#include "supervisor/options.hpp"

namespace quietus {

// What this half stands on; established before the worker starts.
struct Ground {
  int self = 0;
  bool subreaper = false;  // verified, not only asked for
  bool shielded = false;   // verified: kill(-1) reaches our own tree and nothing else
  bool isolated = false;   // we are the init of a PID namespace of our own
  std::optional<Cgroup> cgroup;
  bool cgroup_holds_worker = false;  // seen; asked only where the cgroup alone has to prove the end
};

class ProcessTree {
 public:
  ProcessTree(sys::Gate& gate, Ground& ground, const Options& options, Outcome& outcome,
              Moment started);

  // The worker: a child of ours, unreaped, so that nobody else can have its number.
  void watch_worker(int pid) { worker_ = pid; }
  // A worker that we were told of: ours only if the kernel says so. If it was collected before we
  // came, its number may be a stranger's by now and is never signalled. False then.
  bool adopt_worker(int pid);

  // Collects what has ended, for a few milliseconds a turn; never the worker, whose zombie keeps
  // the number of its group. True: there may be more.
  bool reap(Moment now);
  // Its zombie is there, or it is lost without a trace.
  [[nodiscard]] bool worker_ended() const { return worker_ended_; }
  // Waiting itself does not work: the end of the worker cannot be seen.
  [[nodiscard]] bool blind() const { return blind_; }
  [[nodiscard]] bool exited_cleanly() const { return clean_exit_; }

  // Asks the worker to end: the signal, and CONT for those that are stopped.
  void terminate(Moment now);
  // A signal of the user's (USR1, USR2) for the worker.
  void pass_on(int signal);
  // From here on the end is forced: under `group`, who is a child by now stays.
  void begin_forced_end(Moment now);
  // Nothing is ended from here on (keep-on-success).
  void keep_everything() { keeping_ = true; }
  // The worker's group, killed while the worker or its zombie holds the number; then the zombie is
  // collected. True: it was, just now.
  bool kill_worker_group(Moment now);
  // One round of the strongest means. next_round() says when another is worth while.
  void kill_round(Moment now);
  [[nodiscard]] Moment next_round() const { return next_round_; }

  // No value: somebody lives, or it cannot be known.
  std::optional<Proof> prove_empty(Moment now);

  // For the report, best effort: who lives below us, and why.
  std::vector<Process> survivors(Moment now);
  std::vector<Process> kept(Moment now);

 private:
  enum class Lookup { children_file, process_scan, probe };

  void note_ended(const sys::Waited& waited);
  void note_worker(const sys::Waited& waited);
  void collect_worker(Moment now);
  Step& step(std::string_view action, int signal, Moment now);
  enum class Stays { no, yes, unknown };
  [[nodiscard]] Stays stays(int pid);
  [[nodiscard]] bool kills_below_group() const;
  struct Children {
    std::vector<int> pids;
    bool complete = false;  // nobody is missing from the list
  };
  Children children(Moment now);
  void look_elsewhere(int error);
  void sweep(Moment now);
  void sweep_deep(Moment now);
  void pace(const std::vector<int>& alive, bool atomic, Moment began);
  [[nodiscard]] bool no_children_left();
  std::optional<Proof> prove_group_empty(Moment now);
  std::vector<Process> alive_below(Moment now, std::string_view why);
  std::string reason(const Process& process) const;

  sys::Gate& gate_;
  Ground& ground_;
  const Options& options_;
  Outcome& outcome_;
  Moment started_;

  int worker_ = 0;
  bool worker_ended_ = false;
  bool worker_collected_ = false;
  bool clean_exit_ = false;
  bool blind_ = false;
  bool forced_ = false;
  bool keeping_ = false;

  Lookup lookup_ = Lookup::children_file;
  int probe_width_ = 0;  // how many numbers a probe asks for; grows while it is in vain
  // Group policy: who was adopted before the forced end began; and whether these are all.
  std::vector<sys::StatRow> stays_;
  bool knows_who_stays_ = true;
  std::vector<int> denied_;  // may not be signalled
  std::vector<int> last_alive_;
  int same_rounds_ = 0;
  int blind_rounds_ = 0;  // rounds in which no child at all was shown
  int rounds_ = 0;
  std::size_t reaped_since_round_ = 0;
  Moment next_round_{};
};

}  // namespace quietus
