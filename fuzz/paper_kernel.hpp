// A kernel on paper: serves files, links and processes that the input made up, lets time pass, and
// keeps what it was asked to do. Nothing of it reaches the real one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/gate.hpp"

namespace fuzz {

struct Sent {
  int pid;
  int signal;
};

class PaperKernel final : public quietus::sys::Gate {
 public:
  static constexpr int kChild = 4242;  // whom a fork makes

  std::map<std::string, std::string, std::less<>> files;  // by path; "." in a session's directory
  std::map<std::string, std::string, std::less<>> links;
  std::vector<int> processes;       // what a listing of /proc shows
  std::size_t most_at_once = 4096;  // of bytes in one read
  std::int64_t modified = 0;        // every file's time, in seconds
  bool locked = false;              // somebody holds every lock
  bool has_pidfds = true;
  bool ready = true;  // what is polled has something to say

  // What it was asked.
  std::vector<Sent> sent;
  std::string written;        // on descriptor 1
  std::string said;           // on descriptor 2
  std::vector<long> changes;  // calls that change a file system, or that are not known here

  long perform(const quietus::sys::Request& request) noexcept override;

  // A descriptor that gives these bytes.
  int give(std::string_view bytes);
  [[nodiscard]] std::size_t taken(int fd) const;

 private:
  struct File {
    std::string bytes;
    std::size_t at = 0;
    bool directory = false;
    int pid = 0;  // of a pidfd
  };

  long open(const char* path, int flags);
  long read(int fd, char* into, std::size_t size);
  long list(int fd, char* into, std::size_t size);
  long stat(std::string_view path, void* into) const;
  long poll(long fds, long count);
  int add(File file);

  std::map<int, File> open_;
  int next_fd_ = 10;
  std::int64_t now_ns_ = 1000000000000;
};

}  // namespace fuzz
