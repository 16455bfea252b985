// The ledger: a file for each session of this user that is not yet released, written before
// anything is made in a sandbox. Whoever controls the session holds a lock (flock(2)) on its file,
// and the kernel lets go of it when he dies: a file without a lock is a session that was left.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ledger_entry.hpp"
#include "cli/settings.hpp"
#include "quietus/error.hpp"

namespace quietus::cli {

// XDG_STATE_HOME/quietus/sessions, else HOME/.local/state/...; empty without either.
std::string ledger_directory(const Lookup& environment);

// Who we are, for a new entry.
void sign(LedgerEntry& entry);

// A file of the ledger whose lock is ours. Letting go of it leaves it to the garbage collection.
class LedgerFile {
 public:
  LedgerFile(LedgerFile&& other) noexcept;
  LedgerFile& operator=(LedgerFile&&) = delete;
  ~LedgerFile();

  [[nodiscard]] const LedgerEntry& entry() const { return entry_; }
  // What has become known since.
  Expected<void> update(LedgerEntry entry);
  // A private directory of this session on this machine; removed with the entry.
  Expected<std::string> scratch();
  // Everything is released. What is left of artifacts that were on their way goes too.
  Expected<void> remove();

 private:
  friend class Ledger;
  LedgerFile(std::string directory, LedgerEntry entry, int fd);

  std::string directory_;
  LedgerEntry entry_;
  int fd_ = -1;
};

// One file, as it was found.
struct LedgerItem {
  std::string file;             // its name
  Expected<LedgerEntry> entry;  // or why it cannot be read
  bool held = false;            // its controller lives
};

class Ledger {
 public:
  explicit Ledger(std::string directory) : directory_(std::move(directory)) {}

  Expected<LedgerFile> add(LedgerEntry entry) const;
  // All of them, by age; what disappears meanwhile is left out.
  [[nodiscard]] Expected<std::vector<LedgerItem>> list() const;
  // Takes over a session whose controller is gone. None: he lives, or it was released meanwhile.
  [[nodiscard]] std::optional<LedgerFile> take(const std::string& id) const;
  // Files that a controller was about to write when it was killed; nothing had been made then.
  void remove_unfinished() const;

  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

// Whether who wrote it is no process of this machine any more. Not the last word: it lies elsewhere
// for a ledger that several machines share, and the lock decides.
bool writer_is_gone(const LedgerEntry& entry);

// Where the artifacts of a session wait until they are whole, below `into`.
std::string arriving_directory(const LedgerEntry& entry);

}  // namespace quietus::cli
