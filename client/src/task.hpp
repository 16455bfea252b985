// Coroutines that are waited for without being owned: what asyncio calls a shielded task. Asio's
// own rule is that whoever is cancelled cancels what he awaits; a session must not, because a stop
// that has begun has to be finished whoever still listens.
//
// Everything here belongs to one serial executor (see sandbox.hpp).
//
// In this library nothing is awaited inside a condition: g++ 12 puts the awaited condition of an if
// or a while at the very front of the frame, where the resume pointer belongs. A variable finds its
// place. Nor does it compile every initializer list beside a co_await (words.hpp).
#pragma once

#include <algorithm>
#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "contract/time.hpp"
#include "quietus/error.hpp"

namespace quietus {

using Clock = asio::steady_timer::clock_type;
using Until = Clock::time_point;
inline constexpr Until kNever = Until::max();

// Forever included.
inline Until after(Span span) { return span >= kForever ? kNever : Clock::now() + span; }
inline Until earlier(Until a, Until b) { return std::min(a, b); }

// Whether the coroutine that asks was cancelled. Asked before each wait, because a cancellation
// that comes while nothing is awaited stops nothing by itself.
inline asio::awaitable<bool> is_cancelled() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

// From here on the coroutine cannot be cancelled: it has been, and ends what it has begun.
inline asio::awaitable<void> leave_in_peace() {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
}

// A coroutine of its own for `work`: a cancellation is passed on to it and does not throw in it, so
// that it can clean up and say `cancelled` by itself.
template <class T>
asio::awaitable<T> guarded_body(asio::awaitable<T> work) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return co_await std::move(work);
}
template <class T>
asio::awaitable<T> guarded(asio::awaitable<T> work) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_return co_await asio::co_spawn(executor, guarded_body(std::move(work)), asio::use_awaitable);
}

// Something that happens once, and that any number of coroutines wait for.
class Event {
 public:
  explicit Event(asio::any_io_executor executor)
      : inner_(std::make_shared<Inner>(Inner{std::move(executor)})) {}

  void set() {
    inner_->set = true;
    for (asio::steady_timer* waiter : inner_->waiters) waiter->cancel();
  }
  // So that it can happen again.
  void clear() { inner_->set = false; }
  [[nodiscard]] bool is_set() const { return inner_->set; }

  // Until it happens, the time is over, or the waiter is cancelled. Whether it has happened.
  [[nodiscard]] asio::awaitable<bool> wait(Until until = kNever) { return wait(inner_, until); }

 private:
  struct Inner {
    asio::any_io_executor executor;
    bool set = false;
    std::vector<asio::steady_timer*> waiters = {};
  };

  // Also where the frame is destroyed and never resumed.
  struct Waiter {
    Waiter(std::shared_ptr<Inner> in, Until until)
        : inner(std::move(in)), timer(inner->executor, until) {
      inner->waiters.push_back(&timer);
    }
    ~Waiter() { std::erase(inner->waiters, &timer); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    std::shared_ptr<Inner> inner;
    asio::steady_timer timer;
  };

  static asio::awaitable<bool> wait(std::shared_ptr<Inner> inner, Until until) {
    if (inner->set) co_return true;
    const bool cancelled = co_await is_cancelled();
    if (cancelled) co_return false;
    Waiter waiter(inner, until);
    (void)co_await waiter.timer.async_wait(asio::experimental::as_tuple(asio::use_awaitable));
    co_return inner->set;
  }

  std::shared_ptr<Inner> inner_;
};

// A coroutine that runs whoever waits for it. T is an Expected or has a member `error`, so that a
// cancellation that throws (in a hook of the user's) has a form.
template <class T>
class Task : public std::enable_shared_from_this<Task<T>> {
 public:
  static std::shared_ptr<Task> start(asio::any_io_executor executor, asio::awaitable<T> work) {
    auto task = std::shared_ptr<Task>(new Task(executor));
    asio::co_spawn(
        executor, run(task, executor, std::move(work)),
        asio::bind_cancellation_slot(task->signal_.slot(), [task](const std::exception_ptr&) {
          if (!task->result_) task->result_ = broken("it was cancelled", ErrorKind::cancelled);
          task->over_.set();
        }));
    return task;
  }

  [[nodiscard]] bool done() const { return over_.is_set(); }
  [[nodiscard]] bool was_cancelled() const { return cancelled_; }
  // Asks; the work ends when it does.
  void cancel() {
    if (done()) return;
    cancelled_ = true;
    signal_.emit(asio::cancellation_type::terminal);
  }
  // Until it is over, the time is, or the waiter is cancelled. Whether it is over.
  [[nodiscard]] asio::awaitable<bool> wait(Until until = kNever) { return over_.wait(until); }
  // Only when done.
  [[nodiscard]] T& result() { return *result_; }

 private:
  explicit Task(asio::any_io_executor executor) : over_(std::move(executor)) {}

  static T broken(std::string what, ErrorKind kind) {
    Error error{kind, std::move(what), {}};
    if constexpr (requires { T{tl::unexpected(error)}; }) {
      return T{tl::unexpected(std::move(error))};
    } else {
      T result;
      result.error = std::move(error);
      return result;
    }
  }

  static asio::awaitable<void> run(std::shared_ptr<Task> task, asio::any_io_executor executor,
                                   asio::awaitable<T> work) {
    co_await asio::this_coro::throw_if_cancelled(false);
    // Whoever starts it has its handle before it begins.
    co_await asio::post(executor, asio::use_awaitable);
    try {
      task->result_ = co_await std::move(work);
    } catch (const std::exception& thrown) {
      const bool cancelled = task->cancelled_;
      task->result_ = broken(cancelled ? "it was cancelled" : thrown.what(),
                             cancelled ? ErrorKind::cancelled : ErrorKind::input);
    }
  }

  Event over_;
  asio::cancellation_signal signal_;
  bool cancelled_ = false;
  std::optional<T> result_;
};

}  // namespace quietus
