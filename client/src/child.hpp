// One child process of ours: started, watched, signalled while its number is held, and collected.
#pragma once

#include <sys/types.h>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <optional>

#include "client/src/descriptor.hpp"
#include "client/src/task.hpp"
#include "quietus/error.hpp"
#include "quietus/transport.hpp"

namespace quietus {

// As a shell would say it, or by which signal it died.
struct ExitStatus {
  int code = 0;  // 128 + n for a signal
  bool signaled = false;
};

class Child {
 public:
  // Standard streams of the child; it gets nothing else that is ours.
  struct Streams {
    UniqueFd in;
    UniqueFd out;
    UniqueFd err;
  };
  // In a session of its own, with default signal dispositions and an empty mask. The error says
  // whether it was not found (spawn_error: ENOENT, EACCES, ...).
  struct SpawnError {
    int code = 0;
    Error error;
  };
  static asio::awaitable<tl::expected<Child, SpawnError>> spawn(HostCommand command,
                                                                Streams streams, Until until);

  Child(Child&&) noexcept = default;
  Child& operator=(Child&&) = delete;
  // What was not collected is killed with its group and collected.
  ~Child();

  // Until it has ended. It stays a zombie, and so its numbers stay ours, until collect().
  asio::awaitable<void> ended();
  [[nodiscard]] bool has_ended() const;
  // To its process group, which is its own. Not after collect().
  void signal_group(int signal) const;
  // Only after it has ended.
  ExitStatus collect();

  [[nodiscard]] pid_t pid() const { return pid_.get(); }

 private:
  // Zero when moved from or collected.
  class Pid {
   public:
    explicit Pid(pid_t pid) : pid_(pid) {}
    Pid(Pid&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
    [[nodiscard]] pid_t get() const { return pid_; }
    pid_t release() { return std::exchange(pid_, 0); }

   private:
    pid_t pid_;
  };
  Child(const asio::any_io_executor& executor, pid_t pid, UniqueFd pidfd);

  Pid pid_;
  asio::any_io_executor executor_;
  // Not open where pidfds are refused: then ended() looks every few milliseconds.
  asio::posix::stream_descriptor pidfd_;
};

}  // namespace quietus
