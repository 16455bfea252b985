#include "cli/interruptible.hpp"

#include <unistd.h>

#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <csignal>

#include "cli/task.hpp"
#include "contract/exit_code.hpp"

namespace quietus::cli {
namespace {

class Interrupts {
 public:
  Interrupts(asio::io_context& io, Screen& screen, OnInterrupt handler)
      : signals_(io, SIGINT, SIGTERM, SIGHUP), screen_(screen), handler_(std::move(handler)) {}

  void watch(std::shared_ptr<Task<int>> task) {
    task_ = std::move(task);
    wait();
  }
  void end() { signals_.cancel(); }
  void interrupt() {
    ++count_;
    if (handler_ && handler_(count_)) return;
    if (count_ == 1) return task_->cancel();
    screen_.error("left at once; quietusctl gc ends what still runs");
    screen_.clear_status();
    _exit(kExitFailed);
  }

 private:
  void wait() {
    signals_.async_wait([this](const std::error_code& error, int) {
      if (error) return;
      interrupt();
      wait();
    });
  }

  asio::signal_set signals_;
  Screen& screen_;
  OnInterrupt handler_;
  std::shared_ptr<Task<int>> task_;
  int count_ = 0;
};

asio::awaitable<void> when_over(std::shared_ptr<Task<int>> task, Interrupts& interrupts) {
  co_await task->ended();
  interrupts.end();
}

}  // namespace

int run_interruptible(Screen& screen, asio::awaitable<int> work, OnInterrupt on_interrupt,
                      OnNobodyReads on_nobody_reads) {
  asio::io_context io(1);
  Interrupts interrupts(io, screen, std::move(on_interrupt));
  const auto task = Task<int>::start(io.get_executor(), std::move(work));
  interrupts.watch(task);
  screen.when_nobody_reads([&] {
    if (!on_nobody_reads || !on_nobody_reads()) return;
    // Not within what was just about to print.
    asio::post(io, [&] { interrupts.interrupt(); });
  });
  asio::co_spawn(io, when_over(task, interrupts), [](std::exception_ptr) {});
  io.run();
  screen.when_nobody_reads({});
  return task->result();
}

}  // namespace quietus::cli
