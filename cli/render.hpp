// Everything that quietusctl prints. The texts are pure; the screen knows where they may go:
// results on standard output, whatever else there is to say on standard error, and nothing of the
// latter but trouble where nobody looks at a terminal.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/explain.hpp"
#include "cli/ledger.hpp"
#include "cli/run_session.hpp"

namespace quietus::cli {

// --- texts ------------------------------------------------------------------------------------

nlohmann::json error_json(const Error& error);
nlohmann::json receipt_value(const Receipt& receipt);
nlohmann::json session_json(const SessionResult& result);
nlohmann::json ledger_item_json(const LedgerItem& item);
nlohmann::json explanation_json(const Explanation& explanation);
// One line, whatever bytes are in it.
std::string json_line(const nlohmann::json& json);

// "exited with 0 after 2.1 s; cleanup confirmed": the end of one session.
std::string session_text(const SessionResult& result);
std::string list_text(const std::vector<LedgerItem>& items, std::int64_t now);
// "uv 0.11.12  [=====     ]  50 %  10.0 of 20.0 MiB": at most `width` columns.
std::string progress_line(std::string_view what, std::uint64_t done,
                          std::optional<std::uint64_t> total, std::size_t width);
// At most `width` columns.
std::string status_line(const SessionView& view, std::size_t width);

// --- the screen -------------------------------------------------------------------------------

struct ScreenOptions {
  Verbosity verbosity = Verbosity::normal;
  bool json = false;
  bool no_color = false;
};

enum class Tone { plain, good, bad };

class Screen {
 public:
  explicit Screen(ScreenOptions options);
  ~Screen() { clear_status(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Standard output, as it is.
  void out(std::string_view text);
  void json(const nlohmann::json& json) { out(json_line(json)); }
  // Standard error, as it is: what a command wrote there.
  void err(std::string_view text);
  // "quietusctl: ...", on standard error. Errors are told always, warnings unless quiet, news only
  // at a terminal or when asked for.
  void error(std::string_view text) { say(text, Tone::bad); }
  void warn(std::string_view text);
  void news(std::string_view text, Tone tone = Tone::plain);

  [[nodiscard]] bool has_status_line() const { return status_line_; }
  void status(const SessionView& view);
  void progress(std::string_view what, std::uint64_t done, std::optional<std::uint64_t> total);
  void clear_status();

  [[nodiscard]] bool is_json() const { return options_.json; }
  // Standard output could not take what it was given, which is told once; nothing more goes there.
  [[nodiscard]] bool broken() const { return broken_; }
  // Called when it turns out that nobody reads it any more; whoever sets it takes it back.
  void when_nobody_reads(std::function<void()> stop) { when_nobody_reads_ = std::move(stop); }

 private:
  void say(std::string_view text, Tone tone);

  ScreenOptions options_;
  bool at_terminal_;
  bool color_;
  bool status_line_;
  bool shown_ = false;
  bool broken_ = false;
  std::function<void()> when_nobody_reads_;
};

}  // namespace quietus::cli
