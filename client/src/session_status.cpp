#include "quietus/session_status.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace quietus {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 6> kPhases = {"new",      "fenced", "running",
                                                     "stopping", "done",   "lost"};

Json parse(std::string_view text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// Each take_ function is false only for a wrong type: what is missing or null keeps its default.
bool take_text(const Json& object, const char* key, std::string& into) {
  const Json* value = member(object, key);
  if (value == nullptr || value->is_null()) return true;
  if (!value->is_string()) return false;
  into = value->get<std::string>();
  return true;
}

template <class Number>
bool take_integer(const Json& object, const char* key, Number& into) {
  const Json* value = member(object, key);
  if (value == nullptr || value->is_null()) return true;
  if (!value->is_number_integer()) return false;
  into = value->get<Number>();
  return true;
}

bool take_number(const Json& object, const char* key, std::optional<double>& into) {
  const Json* value = member(object, key);
  if (value == nullptr || value->is_null()) return true;
  if (!value->is_number()) return false;
  into = value->get<double>();
  return true;
}

bool take_processes(const Json& object, std::vector<SessionProcess>& into) {
  const Json* rows = member(object, "processes");
  if (rows == nullptr || rows->is_null()) return true;
  if (!rows->is_array()) return false;
  for (const Json& row : *rows) {
    if (!row.is_object()) return false;
    SessionProcess process;
    std::optional<double> cpu;
    if (!take_integer(row, "pid", process.pid) || !take_integer(row, "ppid", process.ppid) ||
        !take_text(row, "state", process.state) || !take_text(row, "comm", process.comm) ||
        !take_text(row, "command_line", process.command_line) ||
        !take_number(row, "cpu_seconds", cpu) || !take_integer(row, "rss_kib", process.rss_kib)) {
      return false;
    }
    process.cpu_seconds = cpu.value_or(0);
    into.push_back(std::move(process));
  }
  return true;
}

}  // namespace

std::string_view name(SessionPhase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

Expected<SessionStatus> parse_session_status(std::string_view json) {
  const auto wrong = [](const char* what) {
    return fail(ErrorKind::sandbox, std::string("quietus status gave no status: ") + what);
  };
  const Json object = parse(json);
  if (!object.is_object()) return wrong("it is not a JSON object");
  SessionStatus status;
  std::string state;
  if (!take_text(object, "state", state)) return wrong("its state is not a text");
  const auto* const phase = std::ranges::find(kPhases, state);
  if (phase == kPhases.end()) return wrong("its state is not one that we know");
  status.phase = static_cast<SessionPhase>(phase - kPhases.begin());
  if (!take_number(object, "age_seconds", status.age_seconds)) return wrong("age_seconds");
  if (!take_number(object, "deadline_left_seconds", status.deadline_seconds)) {
    return wrong("deadline_left_seconds");
  }
  if (const Json* confirmed = member(object, "cleanup_confirmed");
      confirmed != nullptr && !confirmed->is_null()) {
    if (!confirmed->is_boolean()) return wrong("cleanup_confirmed");
    status.cleanup_confirmed = confirmed->get<bool>();
  }
  if (!take_processes(object, status.processes)) return wrong("processes");
  return status;
}

std::optional<ProcessInfo> parse_process_info(std::string_view json) {
  const Json object = parse(json);
  if (!object.is_object()) return std::nullopt;
  ProcessInfo info;
  for (const auto& [key, value] : object.items()) {
    if (key == "hostname" && value.is_string()) {
      info.hostname = value.get<std::string>();
    } else if (key == "pid" && value.is_number_integer()) {
      info.pid = value.get<std::int64_t>();
    } else if (key == "python" && (value.is_string() || value.is_null())) {
      if (value.is_string()) info.python = value.get<std::string>();
    } else {
      return std::nullopt;
    }
  }
  if (!object.contains("hostname") || !object.contains("pid")) return std::nullopt;
  return info;
}

}  // namespace quietus
