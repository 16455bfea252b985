// One whole session, from its entry in the ledger to the release.
#pragma once

#include <asio/awaitable.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/collect.hpp"
#include "cli/services.hpp"
#include "contract/receipt.hpp"
#include "quietus/adapter.hpp"
#include "quietus/session.hpp"

namespace quietus::cli {

// The end of the output that a result in JSON holds.
inline constexpr std::uint64_t kOutputInJson = std::uint64_t{1} << 20;

struct SessionPlan {
  std::string sandbox;
  std::vector<std::string> argv = {};
  std::vector<EnvironmentEntry> environment = {};
  std::string workdir = {};
  std::vector<std::string> globs = {};
  std::string into = {};
  Span timeout = kForever;
  // Of the end of the output, for the result; the log itself is not shortened.
  std::uint64_t kept_output = 0;
  // More words for `quietus launch`.
  std::vector<std::string> launch_options = {};
  // Instead of argv and globs; its run is completed with the session's directory.
  std::shared_ptr<const Adapter> adapter = {};
  AdapterRun adapter_run = {};
};

// For a status line.
struct SessionView {
  double elapsed = 0;
  std::string_view phase;  // "opening", "running", "collecting", ...
  std::optional<double> deadline_left = {};
  std::size_t processes = 0;
  double cpu_seconds = 0;
  std::int64_t rss_kib = 0;
};

// Whoever wants to know more than the result; all may be empty.
struct SessionHooks {
  std::function<void(std::string_view)> warn = {};
  // A line for each step of an adapter that may take a while.
  std::function<void(std::string_view)> progress = {};
  // The output while it comes; empty: nobody follows it.
  std::function<void(std::string_view)> output = {};
  // The whole log, in a file that lives until the call returns.
  std::function<void(const std::string&)> log = {};
  std::function<void(const SessionView&)> view = {};
  // Called once the session can be ended without its grace.
  std::function<void(std::function<void()> end_now)> can_end_now = {};
};

struct SessionResult {
  std::string id = {};
  std::string sandbox = {};
  std::string directory = {};
  Ownership ownership = Ownership::borrowed;
  int exit_code = 125;
  std::optional<Receipt> receipt = {};  // final, whether it confirms or not
  std::optional<nlohmann::json> report = {};
  std::optional<Error> error = {};  // what went wrong with us or the sandbox
  Collection collection = {};
  std::optional<HarnessResult> harness = {};  // what an adapter has read
  std::vector<std::string> warnings = {};
  std::string output = {};
  bool cancelled = false;
  bool released = false;  // nothing of it is left, and nothing in the ledger
  double seconds = 0;
};

// Cancelling it stops the command, confirms, collects and releases.
asio::awaitable<SessionResult> run_session(const Services& services, SessionPlan plan,
                                           SessionHooks hooks);

}  // namespace quietus::cli
