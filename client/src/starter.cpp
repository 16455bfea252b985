#include "client/src/starter.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/experimental/as_tuple.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace quietus {
namespace {

// One waits while another starts; more would only queue for the processors.
constexpr std::size_t kMostThreads = 4;
// How often, and how long, one that was killed is waited for; one in uninterruptible sleep stays.
constexpr auto kLook = std::chrono::milliseconds(10);
constexpr int kLastLooks = 200;
// For what is being started when it is cancelled or too late, or when the program ends: who is
// there can be ended before anybody believes that it is over.
constexpr auto kLastStarts = std::chrono::seconds(2);

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

class FileActions {
 public:
  explicit FileActions(const StartRequest& request) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, request.in.get(), 0);
    posix_spawn_file_actions_adddup2(&actions_, request.out.get(), 1);
    posix_spawn_file_actions_adddup2(&actions_, request.err.get(), 2);
    // Ours are close-on-exec; those of the program that uses this library may not be.
    posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
    if (!request.cwd.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions_, request.cwd.c_str());
    }
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

Started start_here(StartRequest& request) {
  const Attributes attributes;
  const FileActions actions(request);
  Started started;
  // posix_spawn does not copy our memory, which may be large: fork(2) would take milliseconds.
  started.error =
      posix_spawnp(&started.pid, request.argv.front().c_str(), actions.get(), attributes.get(),
                   pointers(request.argv).data(), pointers(request.environment).data());
  if (started.error != 0) started.pid = 0;
  return started;
}

// What the coroutine and the thread share. Neither touches the other's loop or stack.
class Start {
 public:
  Start(StartRequest request, UniqueFd wake)
      : request_(std::move(request)), wake_(std::move(wake)) {}

  // In a thread of ours.
  void perform() {
    const Started started = start_here(request_);
    request_ = {};  // the child's streams: held here, they would keep its pipes open
    {
      const std::lock_guard lock(mutex_);
      result_ = started;
      done_ = true;
      if (!abandoned_) {
        (void)eventfd_write(wake_.get(), 1);  // cannot fail: nobody else counts it up
        wake_.reset();                        // before the other side goes on, and counts its own
        return;
      }
    }
    end_and_collect(started.pid);
  }

  [[nodiscard]] bool done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  [[nodiscard]] Started take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(result_, {});
  }
  void abandon() {
    Started left;
    {
      const std::lock_guard lock(mutex_);
      abandoned_ = true;
      left = std::exchange(result_, {});
    }
    end_and_collect(left.pid);
  }

 private:
  StartRequest request_;
  UniqueFd wake_;
  std::mutex mutex_;
  Started result_;
  bool done_ = false;
  bool abandoned_ = false;
};

class Threads {
 public:
  // False: there is no thread that could do it.
  bool add(const std::shared_ptr<Start>& start) {
    // After a fork(2) the threads, and whoever holds the lock, are the parent's.
    if (owner_ != getpid()) return false;
    const std::lock_guard lock(mutex_);
    if (threads_ - busy_ <= queue_.size() && threads_ < kMostThreads) add_thread();
    if (threads_ == 0) return false;
    queue_.push_back(start);
    changed_.notify_one();
    return true;
  }

  // What is being started gets a moment to be there, so that it can be ended.
  void finish() {
    if (owner_ != getpid()) return;
    std::unique_lock lock(mutex_);
    quiet_.wait_for(lock, kLastStarts, [this] { return queue_.empty() && busy_ == 0; });
  }

 private:
  void add_thread() {
    // The signals of the program are not for threads of ours.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { serve(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      // A limit. With fewer it takes longer.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !queue_.empty(); });
      std::shared_ptr<Start> start = std::move(queue_.front());
      queue_.pop_front();
      ++busy_;
      lock.unlock();
      start->perform();
      start.reset();
      lock.lock();
      --busy_;
      quiet_.notify_all();
    }
  }

  const pid_t owner_ = getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable quiet_;
  std::deque<std::shared_ptr<Start>> queue_;
  std::size_t threads_ = 0;
  std::size_t busy_ = 0;
};

// A start can hang with its file system, and the end of the program must not: so the threads are
// never joined, and what they use stays.
Threads& threads_of_this_program() {
  struct AtExit {
    Threads& threads = *new Threads;
    ~AtExit() { threads.finish(); }
  };
  static AtExit at_exit;
  return at_exit.threads;
}

// Also where the coroutine is destroyed and never resumed.
struct Abandoner {
  std::shared_ptr<Start> start;
  explicit Abandoner(std::shared_ptr<Start> one) : start(std::move(one)) {}
  ~Abandoner() { start->abandon(); }
  Abandoner(const Abandoner&) = delete;
  Abandoner& operator=(const Abandoner&) = delete;
};

}  // namespace

bool is_held(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void end_and_collect(pid_t leader) {
  if (leader == 0 || !is_held(leader)) return;
  ::kill(-leader, SIGKILL);
  for (int look = 0; look < kLastLooks; ++look) {
    const pid_t got = waitpid(leader, nullptr, WNOHANG);
    if (got == leader || (got < 0 && errno != EINTR)) return;
    std::this_thread::sleep_for(kLook);
  }
}

asio::awaitable<Started> start_process(StartRequest request, Until until) {
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) co_return Started{.error = errno};
  UniqueFd seen(fcntl(wake.get(), F_DUPFD_CLOEXEC, 3));
  if (!seen) co_return Started{.error = errno};
  const auto start = std::make_shared<Start>(std::move(request), std::move(wake));
  const bool added = threads_of_this_program().add(start);
  if (!added) {
    start->perform();
    co_return start->take();
  }
  const Abandoner abandoner(start);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto wakened = std::make_shared<asio::posix::stream_descriptor>(executor, seen.release());
  asio::steady_timer alarm(executor);
  const auto wake_at = [&](Until when) {
    alarm.expires_at(when);
    alarm.async_wait([wakened](const asio::error_code& stopped) {
      asio::error_code ignored;
      if (!stopped) wakened->cancel(ignored);
    });
  };
  wake_at(until);
  Started given_up;
  while (!start->done()) {
    const bool cancelled = co_await is_cancelled();
    if (given_up.error == 0 && (cancelled || Clock::now() >= until)) {
      given_up.error = cancelled ? ECANCELED : ETIMEDOUT;
      until = Clock::now() + kLastStarts;
      wake_at(until);
    }
    if (given_up.error != 0 && Clock::now() >= until) co_return given_up;
    (void)co_await wakened->async_wait(asio::posix::stream_descriptor::wait_read,
                                       asio::experimental::as_tuple(asio::use_awaitable));
  }
  co_return start->take();
}

}  // namespace quietus
