// What a directory allows: tried in a directory of our own below it, which is gone afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

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

struct DirectoryTrial {
  std::array<Trial, kDirectoryUses> uses;
  std::optional<std::uint64_t> free_bytes;
};

DirectoryTrial try_directory(sys::Gate& gate, const char* path);

}  // namespace quietus
