// The session's output while it comes. The log only grows until the command has ended, so whoever
// knows how far he has read needs no more than what lies beyond.
#pragma once

#include <asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "quietus/session.hpp"

namespace quietus::cli {

class OutputFollower {
 public:
  OutputFollower(Session& session, std::function<void(std::string_view)> sink)
      : session_(session), sink_(std::move(sink)) {}

  // Until it is cancelled.
  asio::awaitable<void> follow();
  // What has not been shown yet of the whole log, a file on this machine.
  void finish(const std::string& log);

 private:
  bool read_here(const std::string& path);
  asio::awaitable<bool> read_inside(const std::string& path);

  Session& session_;
  std::function<void(std::string_view)> sink_;
  std::uint64_t shown_ = 0;
};

}  // namespace quietus::cli
