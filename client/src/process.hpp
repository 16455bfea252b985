// Runs one command on this machine to its end: the one place where the library starts processes,
// feeds and reads them, and ends them when time is over. No thread for each; thousands at a time.
#pragma once

#include <asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "client/src/child.hpp"
#include "client/src/task.hpp"
#include "quietus/sandbox.hpp"
#include "quietus/transport.hpp"

namespace quietus {

// Where standard input comes from: fills the buffer, 0 is the end.
using Source = std::function<asio::awaitable<Expected<std::size_t>>(std::span<char>)>;
// Where standard output goes, instead of into the result. An error ends the process.
using Sink = std::function<asio::awaitable<Expected<void>>(std::string_view)>;

struct ProcessRequest {
  HostCommand command;
  Input input = {};
  Source source = {};  // takes the place of `input`
  Sink sink = {};
  Until deadline = kNever;
  std::size_t output_cap = kDefaultOutputCap;
  std::function<void(OutputStream, std::string_view)> on_output = {};
};

struct ProcessEnd {
  std::string out = {};
  std::string err = {};
  bool out_cut = false;
  bool err_cut = false;
  // None: it was never started, or could not be ended.
  std::optional<ExitStatus> status = {};
  // The errno of a start that failed.
  int spawn_error = 0;
  std::optional<Error> error = {};
};

// When the deadline passes, the caller is cancelled, or source or sink fail, the process group gets
// TERM and a second later KILL. Never waits for an
// end of file that a descendant holds back: what the process itself wrote is read, then it is over.
asio::awaitable<ProcessEnd> run_process(ProcessRequest request);

}  // namespace quietus
