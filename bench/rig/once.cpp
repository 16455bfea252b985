// Mode once: one supervisor after the other. Every moment is CLOCK_MONOTONIC in nanoseconds.
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "start.hpp"
#include "survivors.hpp"

namespace bench {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// A machine that does not let a signal through for so long is not one to measure on.
constexpr std::int64_t kPatienceWithAct = 4 * kSecond;

std::int64_t span(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

enum class ReceiptState { absent, torn, whole };

ReceiptState receipt_state(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return ReceiptState::absent;
  char bytes[8192];
  ssize_t size = read(file, bytes, sizeof bytes);
  close(file);
  while (size > 0 && std::isspace(static_cast<unsigned char>(bytes[size - 1])) != 0) size--;
  const bool whole = size > 1 && bytes[0] == '{' && bytes[size - 1] == '}';
  return whole ? ReceiptState::whole : ReceiptState::torn;
}

void touch(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) die(path);
  close(file);
}

// Tells when a file appears or changes in the folder of the receipts.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& file) {
    if (file.empty()) return;
    const std::string folder = file.substr(0, file.rfind('/'));
    // A user has few of these, and others of the machine may hold them all for a moment.
    for (int look = 0; look < 100 && descriptor_ < 0; look++) {
      if (look > 0) usleep(100'000);
      descriptor_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    }
    if (descriptor_ < 0 ||
        inotify_add_watch(descriptor_, folder.c_str(),
                          IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_MODIFY) < 0) {
      die("inotify");
    }
  }
  ~FolderWatch() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Reads all that has come; whether this file was among it.
  [[nodiscard]] bool saw(const std::string& file) const {
    const std::string name = file.substr(file.rfind('/') + 1);
    alignas(inotify_event) char bytes[16384];
    bool seen = false;
    for (;;) {
      const ssize_t size = read(descriptor_, bytes, sizeof bytes);
      if (size <= 0) return seen;
      for (const char* at = bytes; at < bytes + size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        if (event->len > 0 && name == event->name) seen = true;
        at += sizeof *event + event->len;
      }
    }
  }

 private:
  int descriptor_ = -1;
};

// The request to end, made at a random moment of the worker's life.
class Act {
 public:
  Act(const Options& options, std::string stop_file, const Slots& page)
      : options_(options), stop_file_(std::move(stop_file)), page_(page) {
    if (options.act == "prestop") touch(stop_file_);
    wanted_ = options.act == "term" || options.act == "stop";
  }

  // Does what is due; returns when it wants to be asked again.
  std::int64_t turn(std::int64_t time, pid_t supervisor) {
    if (!wanted_) return LLONG_MAX;
    if (due_ == 0) {
      const std::int64_t started = page_.start;
      if (started == 0) return time + 1'000'000;
      due_ = started + span(options_.act_from + (options_.act_to - options_.act_from) * drand48());
    }
    if (done == 0) {
      if (time < due_) return due_;
      done = now();
      if (options_.act == "term") {
        kill(supervisor, SIGTERM);
      } else {
        touch(stop_file_);
      }
    }
    if (lost || page_.term != 0) return LLONG_MAX;
    if (time < done + kPatienceWithAct) return done + kPatienceWithAct;
    lost = true;
    kill(supervisor, SIGKILL);
    return LLONG_MAX;
  }

  std::int64_t done = 0;
  bool lost = false;  // no TERM reached the worker

 private:
  const Options& options_;
  std::string stop_file_;
  const Slots& page_;
  bool wanted_ = false;
  std::int64_t due_ = 0;
};

struct Moments {
  std::int64_t start = 0;
  std::int64_t receipt = 0;
  std::int64_t exit = 0;
};

// Whether the next run is worth its time.
bool one_run(const Options& options, long number, std::FILE* out, const FolderWatch& folder) {
  const Command command(options, number);
  const std::string page_path = numbered(options.page, number);
  const std::string receipt = numbered(options.receipt, number);
  const std::string stop_file = numbered(options.stop, number);
  Slots* page = map_page(page_path);
  Act act(options, stop_file, *page);
  Moments moments;
  int torn = 0;
  bool hung = false;

  moments.start = now();
  const pid_t pid = start(options, command);
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) die("pidfd_open");
  std::int64_t end = moments.start + span(options.limit);
  pollfd waits[2] = {{pidfd, POLLIN, 0}, {folder.descriptor(), POLLIN, 0}};
  while (moments.exit == 0) {
    const std::int64_t time = now();
    if (time >= end) {
      hung = true;
      kill(pid, SIGKILL);
      end = time + 5 * kSecond;
    }
    const std::int64_t left = std::max<std::int64_t>(0, std::min(end, act.turn(time, pid)) - time);
    const timespec patience{.tv_sec = left / kSecond, .tv_nsec = left % kSecond};
    const int ready = ppoll(waits, receipt.empty() ? 1 : 2, &patience, nullptr);
    const std::int64_t woken = now();
    if (ready < 0 && errno != EINTR) die("ppoll");
    if (!receipt.empty() && folder.saw(receipt) && moments.receipt == 0) {
      const ReceiptState state = receipt_state(receipt);
      if (state == ReceiptState::whole) moments.receipt = woken;
      if (state == ReceiptState::torn) torn++;
    }
    if (ready > 0 && waits[0].revents != 0) moments.exit = woken;
  }
  rusage usage{};
  int status = 0;
  if (wait4(pid, &status, 0, &usage) != pid) die("wait4");
  close(pidfd);

  const std::size_t left_now = survivors(options.cgroup).size();
  std::size_t left_later = 0;
  if (left_now > 0) {
    usleep(100'000);
    reap_all();
    left_later = survivors(options.cgroup).size();
  }
  if (moments.receipt == 0 && !receipt.empty() && receipt_state(receipt) == ReceiptState::whole) {
    moments.receipt = now();
  }
  const auto word = [](std::int64_t value) { return static_cast<long long>(value); };
  const long long cpu = word(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 +
                        usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
  std::fprintf(out,
               "{\"run\":%ld,\"start\":%lld,\"exit\":%lld,\"receipt\":%lld,\"act\":%lld,"
               "\"worker_start\":%lld,\"worker_exit\":%lld,\"worker_term\":%lld,"
               "\"ready\":%lld,\"forks\":%lld,\"fork_failed\":%lld,\"code\":%d,\"signal\":%d,"
               "\"hung\":%d,\"act_lost\":%d,\"torn\":%d,\"left_now\":%zu,\"left_later\":%zu,"
               "\"cpu_us\":%lld}\n",
               number, word(moments.start), word(moments.exit), word(moments.receipt),
               word(act.done), word(page->start), word(page->exit), word(page->term),
               word(page->ready), word(page->forks), word(page->failed),
               WIFEXITED(status) ? WEXITSTATUS(status) : -1,
               WIFSIGNALED(status) ? WTERMSIG(status) : 0, hung ? 1 : 0, act.lost ? 1 : 0, torn,
               left_now, left_later, cpu);
  std::fflush(out);
  end_survivors(options.cgroup, 10);
  unmap_page(page, page_path);
  if (!stop_file.empty()) unlink(stop_file.c_str());
  return !act.lost;
}

}  // namespace

void run_once(const Options& options) {
  std::FILE* out = std::fopen(options.out.c_str(), "we");
  if (out == nullptr) die(options.out);
  const FolderWatch folder(options.receipt);
  for (long number = 0; number < options.runs; number++) {
    if (!one_run(options, number, out, folder)) break;
  }
  std::fclose(out);
}

}  // namespace bench
