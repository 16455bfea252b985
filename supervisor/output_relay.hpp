// --output-limit: the worker's output, kept to a limit. The first half of the limit goes straight
// to the file; the last half is kept in memory and written at the end, after a line that says how
// many bytes were cut. Reading never stops, so the worker is never blocked, and nobody waits for a
// pipe that somebody holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/calls.hpp"

namespace quietus {

class OutputRelay {
 public:
  // The memory is shared with children made later: when one half is killed the other one finishes.
  static sys::Result<OutputRelay> create(sys::Gate& gate, sys::UniqueFd file, std::uint64_t limit);

  [[nodiscard]] int worker_end() const { return worker_.second.get(); }
  void close_worker_end() { worker_.second.reset(); }
  [[nodiscard]] int fd() const { return worker_.first.get(); }

  // Takes what is there, bounded. False: nothing more just now, or the end.
  bool drain(sys::Gate& gate);

  // What is still in the pipe, then the kept end.
  sys::Result<sys::Unit> finish(sys::Gate& gate);

  [[nodiscard]] std::uint64_t bytes_cut() const;

 private:
  struct State {
    std::uint64_t total = 0;  // bytes that the worker wrote
    std::uint64_t head = 0;   // bytes of them in the file
    std::uint64_t finished = 0;
    char last_of_head = '\n';
    std::int32_t write_error = 0;
  };

  OutputRelay(sys::Pipe worker, sys::Pipe batch, sys::UniqueFd file, State* state,
              std::uint64_t limit);
  bool take(sys::Gate& gate, int from);
  bool take_head(sys::Gate& gate, int from);
  bool take_tail(sys::Gate& gate, int from);
  void to_file(sys::Gate& gate, std::string_view bytes);
  [[nodiscard]] std::uint64_t tail_total() const { return state_->total - state_->head; }

  sys::Pipe worker_;
  // A read locks the pipe while it copies, and a write waits for it. So whole pages are moved from
  // the worker's pipe to one that only we use, and copied from there while the worker writes on.
  sys::Pipe batch_;
  sys::UniqueFd file_;
  State* state_;  // at the front of the shared mapping; the ring follows
  char* ring_;
  std::uint64_t head_limit_;
  std::uint64_t tail_limit_;
  std::uint64_t ring_size_;
};

}  // namespace quietus
