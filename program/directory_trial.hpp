// What a directory allows: tried in a directory of our own below it, which is gone afterwards.
#pragma once

#include <array>
#include <cstdint>

#include "kernel/calls.hpp"
#include "program/trial.hpp"

namespace quietus {

enum DirectoryUse {
  kWrite,
  kExecute,
  kLock,    // flock on a directory: a session needs it
  kNotify,  // inotify
  kDirectoryUses,
};

struct Directory {
  char path[4096] = "";  // empty: there is none
  std::array<Trial, kDirectoryUses> uses;
  std::int64_t free_bytes = -1;  // -1: not told
};

// In memory that is shared with children: they leave their answers there.
void try_directory(sys::Gate& gate, Directory& directory);

}  // namespace quietus
