#include "cli/render.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/values.hpp"
#include "cli/write_all.hpp"
#include "contract/decimal.hpp"

namespace quietus::cli {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kName = "quietusctl: ";
constexpr std::size_t kUsualWidth = 80;
constexpr std::string_view kEraseLine = "\r\x1b[K";

std::string_view color_of(Tone tone) {
  switch (tone) {
    case Tone::good: return "\x1b[32m";
    case Tone::bad: return "\x1b[31m";
    default: return {};
  }
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualWidth;
}

// What came from elsewhere must not move the cursor.
std::string tame(std::string_view text) {
  std::string tamed;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    tamed += c == '\n' || byte >= 0x80 || (byte >= ' ' && byte != 0x7F) ? c : '?';
  }
  return tamed;
}

std::string_view ownership_word(Ownership ownership) {
  return ownership == Ownership::owned ? "owned" : "borrowed";
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

}  // namespace

Json error_json(const Error& error) {
  Json json = {{"kind", name(error.kind)}, {"message", error.message}, {"advice", error.advice}};
  if (error.cause) json["cause"] = error_json(*error.cause);
  return json;
}

Json receipt_value(const Receipt& receipt) {
  return {{"cleanup_confirmed", receipt.cleanup_confirmed},
          {"return_code", receipt.return_code ? Json(*receipt.return_code) : Json()},
          {"error", receipt.error ? Json(*receipt.error) : Json()},
          {"timed_out", receipt.timed_out}};
}

Json session_json(const SessionResult& result) {
  Json json = {
      {"schema", "quietusctl-session"},
      {"schema_version", 1},
      {"session", result.id},
      {"sandbox", result.sandbox},
      {"directory", result.directory},
      {"ownership", ownership_word(result.ownership)},
      {"exit_code", result.exit_code},
      {"receipt", result.receipt ? receipt_value(*result.receipt) : Json()},
      {"report", result.report ? *result.report : Json()},
      {"error", result.error ? error_json(*result.error) : Json()},
      {"result", result.harness ? Json::parse(result.harness->json, nullptr, false) : Json()},
      {"artifacts", Json::array()},
      {"missing", result.collection.missing},
      {"problems", Json::array()},
      {"warnings", result.warnings},
      {"released", result.released},
      {"seconds", result.seconds},
  };
  for (const Artifact& artifact : result.collection.artifacts) {
    json["artifacts"].push_back(
        {{"inside", artifact.inside}, {"local", artifact.local}, {"bytes", artifact.bytes}});
  }
  for (const Error& problem : result.collection.problems) {
    json["problems"].push_back(error_json(problem));
  }
  return json;
}

Json ledger_item_json(const LedgerItem& item) {
  Json json = {{"file", item.file}, {"controller_lives", item.held}};
  if (!item.entry) {
    json["error"] = error_json(item.entry.error());
    return json;
  }
  const LedgerEntry& entry = *item.entry;
  json["session"] = entry.id;
  json["sandbox"] = entry.sandbox;
  json["reach"] = entry.reach;
  json["ownership"] = ownership_word(entry.owned ? Ownership::owned : Ownership::borrowed);
  json["directory"] = entry.directory;
  json["command"] = entry.command;
  json["controller_pid"] = entry.pid;
  json["created"] = entry.created;
  return json;
}

Json explanation_json(const Explanation& explanation) {
  return {{"kind", explanation.is_report ? "report" : "receipt"},
          {"strict", explanation.strict},
          {"receipt", receipt_value(explanation.receipt)},
          {"exit_code", explanation.exit_code},
          {"sentences", explanation.sentences}};
}

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string session_text(const SessionResult& result) {
  std::string text = result.sandbox + ": ";
  if (!result.receipt) {
    text += result.error ? result.error->text() : std::string("no receipt");
    return text;
  }
  text += ending_text(*result.receipt);
  if (result.receipt->return_code) text += " after " + duration_text(result.seconds);
  if (result.receipt->timed_out) text += ", at its deadline";
  text += result.receipt->cleanup_confirmed ? "; cleanup confirmed" : "; cleanup NOT confirmed";
  if (result.report) {
    const auto proof = result.report->find("proof");
    if (proof != result.report->end() && proof->is_string()) {
      text += " (" + proof->get<std::string>() + ')';
    }
  }
  if (result.receipt->error) text += "; " + *result.receipt->error;
  const std::size_t count = result.collection.artifacts.size();
  if (count > 0) {
    std::uint64_t bytes = 0;
    for (const Artifact& artifact : result.collection.artifacts) bytes += artifact.bytes;
    text +=
        "; " + decimal(count) + (count == 1 ? " artifact, " : " artifacts, ") + size_text(bytes);
  }
  return text;
}

std::string list_text(const std::vector<LedgerItem>& items, std::int64_t now) {
  if (items.empty()) return "no sessions\n";
  std::string text = "SESSION   AGE          CONTROLLER     SANDBOX                   COMMAND\n";
  for (const LedgerItem& item : items) {
    if (!item.entry) {
      text += padded("?", 10) + item.file + ": " + item.entry.error().text() + '\n';
      continue;
    }
    const LedgerEntry& entry = *item.entry;
    const auto age = static_cast<double>(std::max<std::int64_t>(0, now - entry.created));
    text += padded(entry.id.substr(0, kShownId), 10) + padded(duration_text(age), 13) +
            padded(item.held ? "pid " + decimal(entry.pid) : std::string("gone"), 15) +
            padded(tame(entry.reach.empty() ? entry.sandbox : entry.reach), 26) +
            tame(entry.command) + '\n';
  }
  return text;
}

std::string status_line(const SessionView& view, std::size_t width) {
  std::string text = std::string(view.phase) + "  " + duration_text(view.elapsed);
  if (view.deadline_left) text += "  " + duration_text(*view.deadline_left) + " left";
  if (view.processes > 0) {
    text += "  " + decimal(view.processes) + " processes  cpu " + duration_text(view.cpu_seconds) +
            "  mem " +
            size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, view.rss_kib)) * 1024);
  }
  // The last column stays free: a terminal may wrap there.
  if (text.size() + 1 > width) text.resize(width > 0 ? width - 1 : 0);
  return text;
}

std::string progress_line(std::string_view what, std::uint64_t done,
                          std::optional<std::uint64_t> total, std::size_t width) {
  constexpr std::uint64_t kBar = 20;
  std::string text = tame(what) + "  ";
  if (total && *total > 0) {
    const std::uint64_t part = std::min(done, *total);
    const auto full = static_cast<std::size_t>(part * kBar / *total);
    text += '[' + std::string(full, '=') + std::string(kBar - full, ' ') + "]  " +
            decimal(part * 100 / *total) + " %  " + size_text(done) + " of " + size_text(*total);
  } else {
    text += size_text(done);
  }
  if (text.size() + 1 > width) text.resize(width > 0 ? width - 1 : 0);
  return text;
}

Screen::Screen(ScreenOptions options) : options_(options), at_terminal_(isatty(2) == 1) {
  const char* const kind = std::getenv("TERM");
  const bool is_dumb = kind == nullptr || std::string_view(kind) == "dumb";
  color_ = at_terminal_ && !options_.no_color && !is_dumb;
  status_line_ =
      at_terminal_ && !is_dumb && !options_.json && options_.verbosity != Verbosity::quiet;
}

void Screen::out(std::string_view text) {
  clear_status();
  if (broken_ || write_all(1, text)) return;
  const int why = errno;
  broken_ = true;
  error("cannot write standard output: " + std::string(std::strerror(why)));
  if (why == EPIPE && when_nobody_reads_) when_nobody_reads_();
}

void Screen::err(std::string_view text) {
  clear_status();
  (void)write_all(2, text);
}

void Screen::warn(std::string_view text) {
  if (options_.verbosity != Verbosity::quiet) say(text, Tone::plain);
}

void Screen::news(std::string_view text, Tone tone) {
  const bool wanted = options_.verbosity == Verbosity::verbose ||
                      (options_.verbosity == Verbosity::normal && at_terminal_ && !options_.json);
  if (wanted) say(text, tone);
}

void Screen::say(std::string_view text, Tone tone) {
  clear_status();
  std::string tamed = tame(text);
  std::ranges::replace(tamed, '\n', ' ');
  const std::string_view color = color_ ? color_of(tone) : std::string_view();
  const std::string_view reset = color.empty() ? std::string_view() : "\x1b[0m";
  // In one piece, so that the lines of several do not mix.
  std::string line(kName);
  ((line += color) += tamed) += reset;
  (void)write_all(2, line += '\n');
}

void Screen::status(const SessionView& view) {
  if (!status_line_) return;
  std::string line(kEraseLine);
  (void)write_all(2, line += status_line(view, terminal_width()));
  shown_ = true;
}

void Screen::progress(std::string_view what, std::uint64_t done,
                      std::optional<std::uint64_t> total) {
  if (!status_line_) return;
  std::string line(kEraseLine);
  (void)write_all(2, line += progress_line(what, done, total, terminal_width()));
  shown_ = true;
}

void Screen::clear_status() {
  if (!shown_) return;
  (void)write_all(2, kEraseLine);
  shown_ = false;
}

}  // namespace quietus::cli
