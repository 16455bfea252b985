// For verbs that do one thing in a sandbox.
#pragma once

#include <asio/awaitable.hpp>
#include <functional>

#include "cli/render.hpp"
#include "cli/services.hpp"
#include "quietus/sandbox.hpp"

namespace quietus::cli {

// Opens the sandbox, does the work in it, and lets go of it: what was made for it is ended again.
using Work = std::function<asio::awaitable<int>(Sandbox&)>;
asio::awaitable<int> in_sandbox(const Services& services, Screen& screen, Work work);

// Tells an error, and returns the exit code for it.
int told(Screen& screen, const Error& error);

}  // namespace quietus::cli
