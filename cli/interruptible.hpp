// Runs a verb's coroutine to its end, and lets ^C and TERM reach it.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <functional>

#include "cli/render.hpp"

namespace quietus::cli {

// Whether the verb has done something about its n-th interrupt. What it does not handle: the first
// cancels the coroutine, and a later one ends us at once; then the ledger knows what is left.
using OnInterrupt = std::function<bool(int count)>;

// Asked when nobody reads standard output any more: whether that is an interrupt, too.
using OnNobodyReads = std::function<bool()>;

int run_interruptible(Screen& screen, asio::awaitable<int> work, OnInterrupt on_interrupt = {},
                      OnNobodyReads on_nobody_reads = {});

}  // namespace quietus::cli
