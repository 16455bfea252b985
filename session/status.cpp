// status: what is known of a session, without changing anything.
#include <algorithm>

#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "contract/json.hpp"
#include "contract/receipt_parse.hpp"
#include "kernel/process_table.hpp"
#include "session/directory.hpp"
#include "session/identity_reader.hpp"
#include "session/speak.hpp"
#include "session/verbs.hpp"

namespace quietus {
namespace {

constexpr std::string_view kStates[] = {"new", "fenced", "running", "stopping", "done", "lost"};
enum class State { fresh, fenced, running, stopping, done, lost };

constexpr Span kTreeScanTime = std::chrono::milliseconds(500);
// Others that look at the session hold the lock for an instant.
constexpr Span kOthersTime = std::chrono::milliseconds(100);

struct Status {
  State state = State::fresh;
  std::optional<Span> age;   // of the claim
  std::optional<Span> left;  // until the deadline
  std::optional<std::string> receipt;
  std::vector<Process> processes;
};

std::string_view name(State state) { return kStates[static_cast<std::size_t>(state)]; }

std::optional<Span> age_of(sys::Gate& gate, const SessionDirectory& directory, const char* file) {
  const auto status = sys::lstat_at(gate, directory.fd(), file);
  if (!status) return std::nullopt;
  // Unsigned, since whoever owns the file can set a time that no clock shows.
  const std::uint64_t made = static_cast<std::uint64_t>(status->st_mtim.tv_sec) * 1000000000 +
                             static_cast<std::uint64_t>(status->st_mtim.tv_nsec);
  const auto now = static_cast<std::uint64_t>(sys::wall_clock_ns(gate));
  return Span(std::max<std::int64_t>(0, static_cast<std::int64_t>(now - made)));
}

State state_of(sys::Gate& gate, const SessionDirectory& directory, bool lives) {
  const SessionFiles& files = directory.files();
  const Claim claim = directory.claim(gate);
  const bool asked = directory.has(gate, files.stop) || directory.has(gate, files.kill) ||
                     directory.has(gate, files.expire);
  if (lives) {
    if (claim == Claim::none) return asked ? State::fenced : State::fresh;
    return asked ? State::stopping : State::running;
  }
  if (claim == Claim::stop) return State::fenced;
  if (directory.receipt(gate)) return State::done;
  if (claim == Claim::none) return asked ? State::fenced : State::fresh;
  // An upstream supervisor holds no lock: without our identity file it may live.
  if (!directory.has(gate, files.identity)) return asked ? State::stopping : State::running;
  return State::lost;
}

// Both halves and what descends from them, each half seen to be the one that is named.
std::vector<Process> processes_of(sys::Gate& gate, const Identity& identity) {
  std::vector<Process> found;
  const auto rows = sys::scan_processes(gate, sys::now(gate) + kTreeScanTime);
  if (!rows) return found;
  const auto add = [&](const sys::StatRow& row) {
    const auto same = [&](const Process& process) { return process.pid == row.pid; };
    if (std::ranges::none_of(found, same)) found.push_back(sys::describe(gate, row));
  };
  for (const NamedHalf& half : identity.halves) {
    for (const sys::StatRow& row : *rows) {
      if (row.pid != half.pid || row.start_ticks != half.start_ticks) continue;
      add(row);
      for (const sys::StatRow& below : sys::descendants_of(row.pid, *rows)) add(below);
    }
  }
  return found;
}

Status look(sys::Gate& gate, const SessionDirectory& directory) {
  Status status;
  // Where a receipt stands the session is most likely over, and whoever holds the lock about to go.
  const Span patience = directory.receipt(gate) ? kOthersTime : Span::zero();
  const auto locked = directory.lock(gate, sys::Lock::exclusive, patience);
  if (locked) (void)sys::unlock(gate, directory.fd());
  const Identity identity = read_identity(gate, directory);
  const bool lives = !locked && sys::would_block(locked.error());
  status.state = state_of(gate, directory, lives);
  status.age = age_of(gate, directory, directory.files().claim);
  status.receipt = directory.receipt(gate);
  if (lives) {
    status.processes = processes_of(gate, identity);
    if (identity.started && identity.timeout) {
      const Moment end = Moment(*identity.started + std::min(*identity.timeout, kForever / 2));
      status.left = std::max(Span::zero(), end - sys::now(gate));
      if (*status.left == Span::zero() && status.state == State::running) {
        status.state = State::stopping;
      }
    }
  }
  return status;
}

void write_process(JsonWriter& json, const Process& process) {
  json.begin_object()
      .field("pid", process.pid)
      .field("ppid", process.ppid)
      .field("state", std::string_view(&process.state, 1))
      .field("comm", process.comm)
      .field("command_line", process.command_line)
      .seconds_field("cpu_seconds", process.cpu.count())
      .field("rss_kib", process.rss_kib)
      .end_object();
}

std::string status_json(const Status& status) {
  JsonWriter json;
  json.begin_object()
      .field("schema", "quietus-status")
      .field("schema_version", 1)
      .field("state", name(status.state))
      .key("age_seconds");
  status.age ? json.seconds(status.age->count()) : json.null();
  json.key("deadline_left_seconds");
  status.left ? json.seconds(status.left->count()) : json.null();
  json.key("cleanup_confirmed");
  const auto receipt =
      status.receipt ? parse_receipt(*status.receipt) : tl::unexpected(std::string_view("none"));
  receipt ? json.boolean(receipt->receipt.cleanup_confirmed) : json.null();
  json.key("processes").begin_array();
  for (const Process& process : status.processes) write_process(json, process);
  json.end_array().end_object();
  return json.take();
}

std::string in_seconds(Span span) {
  return decimal(std::chrono::duration_cast<std::chrono::seconds>(span).count()) + " s";
}

std::string status_text(const Status& status) {
  std::string text(name(status.state));
  if (status.age) text += ", claimed " + in_seconds(*status.age) + " ago";
  if (status.left) text += ", " + in_seconds(*status.left) + " to the deadline";
  text += '\n';
  for (const Process& process : status.processes) {
    text += "  " + decimal(process.pid) + "  " + std::string(&process.state, 1) + "  cpu " +
            in_seconds(process.cpu) + "  rss " + decimal(process.rss_kib) + " KiB  " +
            (process.command_line.empty() ? process.comm : process.command_line) + '\n';
  }
  if (status.receipt) text += *status.receipt + '\n';
  return text;
}

}  // namespace

int show_session(sys::Gate& gate, const SessionRequest& request) {
  const auto directory = SessionDirectory::open(gate, request.directory, request.files);
  if (!directory) {
    return complain(gate, kExitFailed, "no status", directory.error(), request.directory);
  }
  const Status status = look(gate, *directory);
  print_line(gate, request.json ? status_json(status) : status_text(status));
  return kExitSuccess;
}

}  // namespace quietus
