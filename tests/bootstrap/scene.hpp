// The fixture of the bootstrap's tests: a scratch directory with a cache in it, a server, and a
// loop that runs one coroutine to its end.
#pragma once

#include <gtest/gtest.h>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/archive.hpp"
#include "bootstrap/server.hpp"
#include "client/results.hpp"
#include "harness/scratch.hpp"
#include "harness/tools.hpp"
#include "harness/watchdog.hpp"
#include "quietus/bootstrap.hpp"
#include "quietus/connect.hpp"

namespace bootstrap_tests {

using namespace quietus;
using namespace std::chrono_literals;
using harness::Words;
using harness::operator+;

// The builds that the tests place, of this build tree.
std::string musl_build(std::string_view machine);
std::string sha256_of_text(std::string_view text);

// Every path below a directory with its size, for "nothing else was written".
std::vector<std::string> tree(const std::string& directory);

class Scene : public testing::Test {
 protected:
  Scene();

  [[nodiscard]] std::string path(std::string_view name) const { return scratch_.path(name); }
  [[nodiscard]] std::string cache() const { return scratch_.path("cache"); }

  template <class T>
  T run(asio::awaitable<T> work) {
    asio::io_context loop;
    std::optional<T> result;
    std::exception_ptr thrown;
    asio::co_spawn(loop, std::move(work), [&](std::exception_ptr why, T value) {
      thrown = why;
      if (!why) result = std::move(value);
    });
    loop.run();
    if (thrown) std::rethrow_exception(thrown);
    return std::move(result.value());
  }

 private:
  harness::Watchdog watchdog_;
  harness::Scratch scratch_;
};

using client_tests::failed;
using client_tests::is_error;
using client_tests::succeeded;

}  // namespace bootstrap_tests
