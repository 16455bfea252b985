// Heartbeats: counters in a page that is shared with the actors. A process that counts lives, and
// one that does not count any more is gone; no list of processes is asked.
#pragma once

#include <cstdint>
#include <string>

namespace harness {

class Beats {
 public:
  explicit Beats(std::string path);  // makes the file
  ~Beats();
  Beats(const Beats&) = delete;
  Beats& operator=(const Beats&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint64_t count(int slot) const;

  // Whether the counter moves within the time that is given.
  [[nodiscard]] bool alive(int slot, double seconds = 10) const;

  // Whether the counter has been moved before, and stands still for long enough that every living
  // beater must have had its turn.
  [[nodiscard]] bool gone(int slot) const;

  // Whether it stands still, moved before or not.
  [[nodiscard]] bool still(int slot) const;
  [[nodiscard]] bool all_still() const;

  // Whether the slot reaches a count in time.
  [[nodiscard]] bool reaches(int slot, uint64_t wanted = 1, double seconds = 15) const;

 private:
  std::string path_;
  uint64_t* page_ = nullptr;
};

}  // namespace harness
