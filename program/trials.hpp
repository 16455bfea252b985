// What works in this place: the means of killing, waiting and hiding.
// Each is tried in a child of its own, which leaves nothing behind and signals nobody but its own
// children. Nothing is concluded from a version.
#pragma once

#include <array>

#include "kernel/calls.hpp"
#include "program/trial.hpp"

namespace quietus {

enum class Purpose { killing, waiting, hiding };
const char* name(Purpose purpose);

// A means, under the name that reports use and the words that people read.
struct MeansTrial {
  Purpose purpose;
  const char* name;
  const char* label;
  void (*attempt)(sys::Gate& gate, Trial& trial);
};
enum MeansIndex {
  kShield,
  kIsolate,
  kCgroup,
  kSubreaper,
  kProcChildren,
  kProcScan,
  kWaitid,
  kPidfd,
  kSignalfd,
  kInotify,
  kDumpable,
  kArgv,
  kMeansCount,
};
const MeansTrial& means_trial(std::size_t index);

// In memory that is shared with children: they leave their answers there. inotify is left to the
// directories: it works if it does in one of them.
using MeansTrials = std::array<Trial, kMeansCount>;
void try_means(sys::Gate& gate, MeansTrials& means);

}  // namespace quietus
