#include "contract/report.hpp"

#include <string_view>

#include "contract/decimal.hpp"
#include "contract/json.hpp"
#include "contract/receipt.hpp"
#include "contract/signals.hpp"

namespace quietus {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1000000000;

void append_padded(std::string& out, std::int64_t value, std::size_t width) {
  const std::string digits = decimal(value);
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

std::string_view name(Ending::Kind kind) {
  switch (kind) {
    case Ending::Kind::unknown: return "unknown";
    case Ending::Kind::not_started: return "not-started";
    case Ending::Kind::exited: return "exited";
    case Ending::Kind::signaled: return "signaled";
  }
  return "unknown";
}

void write_worker(JsonWriter& json, const Outcome& outcome) {
  json.key("worker").begin_object().key("pid");
  outcome.worker_pid > 0 ? json.number(outcome.worker_pid) : json.null();
  json.field("ending", name(outcome.ending.kind));
  json.key("exit_code");
  const auto kind = outcome.ending.kind;
  kind == Ending::Kind::exited ? json.number(outcome.ending.value) : json.null();
  json.key("signal");
  kind == Ending::Kind::signaled ? json.text(signal_name(outcome.ending.value)) : json.null();
  json.end_object();
}

void write_process(JsonWriter& json, const Process& process) {
  json.begin_object()
      .field("pid", process.pid)
      .field("start_ticks", static_cast<std::int64_t>(process.start_ticks))
      .field("ppid", process.ppid)
      .field("pgid", process.pgid)
      .field("sid", process.sid)
      .key("uid");
  process.uid >= 0 ? json.number(process.uid) : json.null();
  json.field("state", std::string_view(&process.state, 1))
      .field("comm", process.comm)
      .field("command_line", process.command_line)
      .field("why", process.why)
      .end_object();
}

void write_processes(JsonWriter& json, std::string_view key, const std::vector<Process>& rows) {
  json.key(key).begin_array();
  for (const Process& row : rows) write_process(json, row);
  json.end_array();
}

void write_usage(JsonWriter& json, std::string_view key, const Usage& usage) {
  json.key(key)
      .begin_object()
      .seconds_field("user_seconds", usage.user.count())
      .seconds_field("system_seconds", usage.system.count())
      .field("peak_rss_kib", usage.peak_rss_kib)
      .end_object();
}

void write_steps(JsonWriter& json, const std::vector<Step>& steps) {
  json.key("steps").begin_array();
  for (const Step& step : steps) {
    json.begin_object()
        .field("action", step.action)
        .field("signal", signal_name(step.signal))
        .seconds_field("at_seconds", step.at.count())
        .seconds_field("until_seconds", step.until.count())
        .field("rounds", step.rounds)
        .field("reached", step.reached)
        .end_object();
  }
  json.end_array();
}

void write_fallbacks(JsonWriter& json, const std::vector<Fallback>& fallbacks) {
  json.key("fallbacks").begin_array();
  for (const Fallback& fallback : fallbacks) {
    json.begin_object()
        .field("call", fallback.call)
        .field("errno", fallback.error)
        .field("instead", fallback.instead)
        .end_object();
  }
  json.end_array();
}

}  // namespace

std::string rfc3339(std::int64_t nanoseconds_since_epoch) {
  const std::int64_t seconds = nanoseconds_since_epoch / kNanosecondsPerSecond;
  const std::chrono::sys_seconds moment{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const std::int64_t in_day = (moment - day).count();
  std::string out;
  append_padded(out, static_cast<int>(date.year()), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, in_day / 3600, 2);
  out += ':';
  append_padded(out, in_day / 60 % 60, 2);
  out += ':';
  append_padded(out, in_day % 60, 2);
  out += '.';
  append_padded(out, nanoseconds_since_epoch % kNanosecondsPerSecond / 1000, 6);
  out += 'Z';
  return out;
}

std::string report_json(const Outcome& outcome) {
  const Receipt receipt = receipt_of(outcome);
  JsonWriter json;
  json.begin_object()
      .field("schema", "quietus-report")
      .field("schema_version", kReportVersion)
      .field("cleanup_confirmed", receipt.cleanup_confirmed)
      .key("return_code");
  receipt.return_code ? json.number(*receipt.return_code) : json.null();
  json.key("error");
  receipt.error ? json.text(*receipt.error) : json.null();
  json.field("timed_out", receipt.timed_out).field("cause", name(outcome.cause)).key("stop_by");
  outcome.stop_by.empty() ? json.null() : json.text(outcome.stop_by);
  json.key("proof");
  outcome.proof ? json.text(name(*outcome.proof)) : json.null();
  json.field("means", name(outcome.means)).field("descendants", outcome.policy);
  write_worker(json, outcome);
  write_steps(json, outcome.steps);
  write_fallbacks(json, outcome.fallbacks);
  write_processes(json, "survivors", outcome.survivors);
  write_processes(json, "kept", outcome.kept);
  json.key("notes").begin_array();
  for (const std::string& note : outcome.notes) json.text(note);
  json.end_array();
  json.field("reaped", outcome.reaped).field("killed", outcome.killed);
  json.key("output_bytes_cut");
  outcome.output_bytes_cut ? json.number(*outcome.output_bytes_cut) : json.null();
  json.key("usage").begin_object();
  write_usage(json, "worker", outcome.worker_usage);
  write_usage(json, "descendants", outcome.descendants_usage);
  json.end_object();
  json.key("times")
      .begin_object()
      .field("started", rfc3339(outcome.wall_start_ns))
      .field("ended", rfc3339(outcome.wall_end_ns))
      .seconds_field("worker_seconds", outcome.worker_ran.count())
      .seconds_field("cleanup_seconds", outcome.cleanup.count())
      .seconds_field("total_seconds", outcome.total.count())
      .end_object()
      .end_object();
  return json.take() + '\n';
}

}  // namespace quietus
