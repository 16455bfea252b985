// A file or tree that appears under its name only when it is complete: it is made beside its
// destination, under a name of its own, and renamed. What is not committed is removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/src/descriptor.hpp"
#include "quietus/error.hpp"

namespace quietus {

class Staged {
 public:
  // Below `root`, which is / for `path`: a symlink there leads nowhere else. Missing parents are
  // made with `parent_mode`.
  static Expected<Staged> below(const std::string& root, const std::string& path,
                                unsigned parent_mode);
  Staged(Staged&& other) noexcept;
  Staged& operator=(Staged&&) = delete;
  ~Staged();

  // One of the two, once.
  Expected<UniqueFd> make_file();
  Expected<std::string> make_directory();  // its path on this machine
  // For tools that make the file or directory themselves.
  [[nodiscard]] std::string path() const;

  // Replaces a file, but no directory.
  Expected<void> commit_file(unsigned mode);
  // Replaces nothing.
  Expected<void> commit_tree();

 private:
  Staged(UniqueFd parent, std::string name, std::string shown);

  UniqueFd parent_;
  std::string name_;
  std::string temporary_;
  std::string shown_;  // for messages
  bool committed_ = false;
};

// What is at a path below a root; opened for reading. The error (input) says why not.
Expected<UniqueFd> open_below(const std::string& root, const std::string& path);

struct TreeSize {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};
// Regular files, directories and symlinks only, else an error (input); at most `most_bytes`.
Expected<TreeSize> measure_tree(const std::string& path, std::optional<std::uint64_t> most_bytes);

Error too_large(std::string_view path, std::uint64_t most_bytes);

}  // namespace quietus
