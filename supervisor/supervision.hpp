// The loop that sees one worker to its end: the one place in a half that waits. The supervisor runs
// it from the launch; the guardian runs it, with fewer sources, over what it adopts when the
// supervisor is killed. It cannot fail: trouble is recorded in the Outcome.
#pragma once

#include <optional>

#include "contract/outcome.hpp"
#include "kernel/calls.hpp"
#include "supervisor/child_side.hpp"
#include "supervisor/ladder.hpp"
#include "supervisor/link.hpp"
#include "supervisor/options.hpp"
#include "supervisor/output_relay.hpp"
#include "supervisor/process_tree.hpp"
#include "supervisor/watched_files.hpp"

namespace quietus {

// Where events come from. Whatever is absent never happens.
struct Sources {
  int signals = -1;           // signalfd
  int commands = -1;          // from the guardian
  int notes = -1;             // to the guardian
  sys::UniqueFd launch_pipe;  // ends when the child has exec'd
  const LaunchBoard* board = nullptr;
  WatchedFiles* files = nullptr;
  OutputRelay* output = nullptr;
  int lease = -1;  // its end of file ends the lease
};

class Supervision {
 public:
  Supervision(sys::Gate& gate, const Options& options, Ground& ground, Outcome& outcome,
              Sources sources, Moment started);

  // The worker was forked just now.
  void watch_worker(int pid);

  // The guardian's way in: the supervisor is gone, and the end begins at once. `worker` is the
  // number that it had told, or 0.
  void take_over(int worker, Moment now);

  // Somebody asks for the end before or while running.
  void request_stop(Cause cause, std::string_view by, Moment now);

  void run();

 private:
  void wait(Moment now);
  void turn();
  void read_signals(Moment now);
  void read_commands(Moment now);
  void look_at_launch();
  void launch_is_over();
  void look_at_files(Moment now);
  void look_at_lease(Moment now);
  void take_signal(int signal, Moment now);
  void on(Ladder::Event event, Moment now);
  void worker_ended(Moment now);
  void end_the_rest(Moment now);
  void give_up(Moment now);
  [[nodiscard]] bool ending() const;
  void settle(Moment now);
  void tell(const Note& note);
  [[nodiscard]] bool keeps_on_success();
  [[nodiscard]] Deadline wake(Moment now) const;

  sys::Gate& gate_;
  const Options& options_;
  Outcome& outcome_;
  Ground& ground_;
  Sources sources_;
  Moment started_;
  Moment now_;
  Ladder ladder_;
  ProcessTree tree_;
  Deadline next_look_;
  Deadline lease_end_;
  std::optional<std::uint64_t> renewed_;  // time of the last renewal that was seen
  Moment ending_since_{};
  std::optional<Ending> launch_failure_;
  bool launch_is_over_ = false;
  bool more_to_reap_ = false;
  bool interrupted_ = false;
  bool guardian_gone_ = false;
};

}  // namespace quietus
