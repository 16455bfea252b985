// The fixture of the client's tests: an event loop that is turned by hand, so that a test reads
// from top to bottom; a scratch directory; a bound; and at the end no descriptor more than before,
// and no process.
#pragma once

#include <gtest/gtest.h>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/results.hpp"
#include "harness/scratch.hpp"
#include "harness/tools.hpp"
#include "harness/watchdog.hpp"
#include "quietus/quietus.hpp"

namespace client_tests {

using namespace quietus;
using namespace std::chrono_literals;
using harness::Words;

// A coroutine that was started, and what came of it.
template <class T>
class Pending {
 public:
  [[nodiscard]] bool done() const { return result_.has_value() || thrown_; }
  [[nodiscard]] bool threw() const { return thrown_ != nullptr; }
  [[nodiscard]] T& result() { return *result_; }
  void cancel() { signal_.emit(asio::cancellation_type::terminal); }

 private:
  friend class Scene;
  asio::cancellation_signal signal_;
  std::optional<T> result_;
  std::exception_ptr thrown_;
};

class Scene : public testing::Test {
 protected:
  // The bound is for the whole test.
  explicit Scene(double bound = 300);
  ~Scene() override;
  void TearDown() override;

  [[nodiscard]] asio::any_io_executor executor() { return loop_->get_executor(); }
  [[nodiscard]] std::string path(std::string_view name) const { return scratch_.path(name); }

  template <class T>
  std::shared_ptr<Pending<T>> start(asio::awaitable<T> work) {
    auto pending = std::make_shared<Pending<T>>();
    asio::co_spawn(*loop_, std::move(work),
                   asio::bind_cancellation_slot(pending->signal_.slot(),
                                                [pending](std::exception_ptr thrown, T result) {
                                                  pending->thrown_ = std::move(thrown);
                                                  if (!pending->thrown_) {
                                                    pending->result_ = std::move(result);
                                                  }
                                                }));
    return pending;
  }

  // Turns the loop until the condition holds; false: not within the time.
  bool until(const std::function<bool()>& condition, double seconds = 60);
  // For a while, so that what should not happen has its chance.
  void turn(double seconds = 0.1);

  // To its end. A test failure, and an abort of the test, where that does not come.
  template <class T>
  T run(asio::awaitable<T> work, double seconds = 60) {
    const auto pending = start(std::move(work));
    if (!until([&] { return pending->done(); }, seconds) || pending->threw()) {
      throw std::runtime_error("the coroutine did not end, or threw");
    }
    return std::move(pending->result());
  }

 private:
  harness::Watchdog watchdog_;
  harness::Scratch scratch_;
  std::size_t descriptors_before_ = 0;
  std::optional<asio::io_context> loop_;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

std::size_t open_descriptors();
// Of this process, in bytes: what is resident; under a sanitizer, which keeps what was freed, what
// is allocated.
std::size_t memory_in_use();

}  // namespace client_tests
