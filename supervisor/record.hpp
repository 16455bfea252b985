// Receipt and report on disk: atomically, at exactly the path that was asked for, without ever
// following or opening what somebody planted there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "contract/outcome.hpp"
#include "kernel/calls.hpp"
#include "supervisor/options.hpp"

namespace quietus {

// Names a run; random, so that nobody can prepare for it. Sixteen hexadecimal digits.
sys::Result<std::string> make_token(sys::Gate& gate);

// The path as it is meant from here, so that it stays the same file wherever we go.
std::string absolute_path(sys::Gate& gate, const std::string& path);

// The temporary file beside a record.
std::string temporary_path(const std::string& path, std::string_view token);

// What a half says when it is done.
struct Conclusion {
  int exit_code = 0;
  std::string message;  // for stderr; empty: nothing to say
};

// The receipt's temporary file, and the exit code that goes with it.
struct Announcement {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  int exit_code = 0;
};

// Called once the receipt stands in its temporary file, just before the rename.
class Herald {
 public:
  virtual ~Herald() = default;
  // True: the outcome changed at the last moment, and is written anew.
  virtual bool before_rename(const Announcement& announcement, Outcome& outcome) = 0;
};

// Report first, receipt last: whoever sees the receipt finds the report there. A report that cannot
// be written makes an error in the receipt; a receipt that cannot be written makes a message.
Conclusion conclude(sys::Gate& gate, const Options& options, Outcome& outcome,
                    std::string_view token, Herald* herald = nullptr);

}  // namespace quietus
