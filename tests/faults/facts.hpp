// What is known about one run without asking quietus: counted and noted by the gate in every
// process of the run, in a page that all of them share with the sweep.
#pragma once

#include <atomic>
#include <cstdint>

namespace faults {

enum class Role : std::uint8_t { guardian, supervisor, child };
inline constexpr int kRoles = 3;
inline constexpr int kKindText = 56;
inline constexpr int kMostKinds = 256;
inline constexpr int kNoteText = 400;

struct KindCount {
  std::atomic<std::uint64_t> hash;  // 0: the place is free
  char name[kKindText];
  std::atomic<std::uint32_t> calls[kRoles];
};

struct Facts {
  // Filled by the gate.
  KindCount kinds[kMostKinds];
  std::atomic<std::uint32_t> struck;  // how often the fault made a difference
  std::atomic<int> guardian;          // pids, as the namespace of the run has them
  std::atomic<int> supervisor;
  std::atomic<int> worker;          // as the supervisor has it
  std::atomic<int> programs_tried;  // execve, as far as the kernel saw it
  std::atomic<int> programs_refused;
  std::atomic<int> worker_collected;     // the kernel told how the worker ended ...
  std::atomic<int> worker_code;          // ... exit code, or -signal
  std::atomic<int> receipts;             // renames of a receipt into place that worked
  std::atomic<int> alive_at_receipt;     // living actors when the last one was
  std::atomic<int> attached_at_receipt;  // of these, without a session of their own making
  char alive_at_receipt_text[kNoteText];

  // Filled by the init of the run, at the end.
  std::atomic<int> finished;
  int setup_error;  // errno of a step of the test itself
  char setup_step[64];
  int event_happened;
  int hung;
  double seconds;   // from the start of quietus to its end
  int status;       // of waitpid for the guardian
  int halves_left;  // halves that outlived the guardian
  int strangers_lost;
  int alive;     // living actors after the end ...
  int attached;  // ... of these, without a session of their own
  char alive_text[kNoteText];
  int has_receipt;
  char receipt[2048];
  char message[1024];  // stderr of quietus

  [[nodiscard]] bool worker_ran() const { return programs_tried > programs_refused; }
};

}  // namespace faults
