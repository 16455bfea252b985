// A coroutine beside the one that started it: cancelled by hand, waited for whatever happens.
// Everything here belongs to one executor that runs nothing in parallel.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "contract/time.hpp"

namespace quietus::cli {

// The answers of these belong into a variable: g++ 12 lays out the frame of a coroutine wrongly
// where the condition of an if or a loop is itself awaited.

// False: it was cut short by a cancellation.
inline asio::awaitable<bool> pause_for(Span span) {
  asio::steady_timer timer(co_await asio::this_coro::executor, span);
  const auto [error] = co_await timer.async_wait(asio::experimental::as_tuple(asio::use_awaitable));
  co_return !error;
}

inline asio::awaitable<bool> was_cancelled() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

// From here on the coroutine can be cancelled again, or not at all.
inline asio::awaitable<void> cancellable_again() {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
}
inline asio::awaitable<void> not_cancellable() {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
}

template <class T>
class Task {
 public:
  static std::shared_ptr<Task> start(asio::any_io_executor executor, asio::awaitable<T> work) {
    auto task = std::shared_ptr<Task>(new Task(executor));
    asio::co_spawn(
        executor, run(task, std::move(work)),
        asio::bind_cancellation_slot(task->signal_.slot(), [task](std::exception_ptr thrown) {
          task->thrown_ = thrown;
          task->done_ = true;
          task->over_.cancel();
        }));
    return task;
  }

  void cancel() {
    if (!done_) signal_.emit(asio::cancellation_type::terminal);
  }
  [[nodiscard]] bool done() const { return done_; }

  // Also when the waiter is cancelled.
  asio::awaitable<void> ended() {
    while (!done_) {
      (void)co_await over_.async_wait(asio::experimental::as_tuple(asio::use_awaitable));
    }
  }
  // Once done; what was thrown in it is thrown here.
  T& result() {
    if (thrown_) std::rethrow_exception(thrown_);
    return *result_;
  }

 private:
  explicit Task(const asio::any_io_executor& executor)
      : over_(executor, asio::steady_timer::time_point::max()) {}

  static asio::awaitable<void> run(std::shared_ptr<Task> task, asio::awaitable<T> work) {
    co_await asio::this_coro::throw_if_cancelled(false);
    task->result_ = co_await std::move(work);
  }

  asio::steady_timer over_;
  asio::cancellation_signal signal_;
  bool done_ = false;
  std::exception_ptr thrown_;
  std::optional<T> result_;
};

// For a Task that gives nothing back.
struct Nothing {};

}  // namespace quietus::cli
