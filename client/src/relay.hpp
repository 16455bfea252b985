// A pipe between two coroutines: one process' output is another's input, and no more than one chunk
// is held. One writer, one reader, one serial executor.
#pragma once

#include <algorithm>
#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "client/src/task.hpp"
#include "quietus/error.hpp"

namespace quietus {

class Relay {
 public:
  explicit Relay(const asio::any_io_executor& executor) : filled_(executor), taken_(executor) {}

  // Returns when the reader has taken all of it.
  asio::awaitable<Expected<void>> push(std::string_view bytes) {
    chunk_ = bytes;
    taken_.clear();
    if (!chunk_.empty()) filled_.set();
    while (!chunk_.empty()) {
      const bool cancelled = co_await is_cancelled();
      if (broken_ || cancelled) {
        chunk_ = {};  // the bytes are the writer's, who goes
        if (!broken_) broken_ = Error{ErrorKind::cancelled, "the copy was cancelled", {}};
        filled_.set();
        co_return fail(*broken_);
      }
      (void)co_await taken_.wait();
    }
    co_return Expected<void>{};
  }

  // 0 after close().
  asio::awaitable<Expected<std::size_t>> pull(std::span<char> into) {
    while (chunk_.empty() || broken_) {
      if (broken_) co_return fail(*broken_);
      if (closed_) co_return std::size_t{0};
      const bool cancelled = co_await is_cancelled();
      if (cancelled) co_return fail(ErrorKind::cancelled, "the copy was cancelled");
      (void)co_await filled_.wait();
    }
    const std::size_t size = std::min(into.size(), chunk_.size());
    std::memcpy(into.data(), chunk_.data(), size);
    chunk_.remove_prefix(size);
    if (chunk_.empty()) {
      filled_.clear();
      taken_.set();
    }
    co_return size;
  }

  // The writer has written all.
  void close() {
    closed_ = true;
    filled_.set();
  }
  // Either side has failed: the other one learns it.
  void give_up(Error why) {
    if (!broken_) broken_ = std::move(why);
    filled_.set();
    taken_.set();
  }

 private:
  Event filled_;
  Event taken_;
  std::string_view chunk_;  // the writer's; it waits until this is empty
  bool closed_ = false;
  std::optional<Error> broken_;
};

}  // namespace quietus
