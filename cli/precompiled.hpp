// What takes most of the time of each file here.
#pragma once

#include <asio/awaitable.hpp>      // IWYU pragma: keep
#include <asio/co_spawn.hpp>       // IWYU pragma: keep
#include <asio/steady_timer.hpp>   // IWYU pragma: keep
#include <asio/use_awaitable.hpp>  // IWYU pragma: keep
#include <functional>              // IWYU pragma: keep
#include <nlohmann/json.hpp>       // IWYU pragma: keep
#include <string>                  // IWYU pragma: keep
#include <vector>                  // IWYU pragma: keep
