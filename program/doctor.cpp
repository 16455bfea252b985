#include "program/doctor.hpp"

#include "contract/exit_code.hpp"
#include "program/bounded.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

// What each means promises, and what it does not.
struct Guarantee {
  Means means;
  std::string_view promise;
  std::string_view escape;
};
constexpr std::string_view kStrong =
    "Whatever a command starts ends, detached or forking without pause. ";
constexpr std::string_view kOthers =
    "what others start for it: a cron, service or container daemon.";
constexpr std::string_view kHonest =
    "can outrun that; the receipt then says that cleanup is not confirmed.";
constexpr Guarantee kGuarantees[] = {
    {Means::shield,
     "One signal to a Landlock domain meets all of it at once, and nobody else. Ask for it: "
     "quietus run --shield -- CMD",
     ""},
    {Means::isolate,
     "It lives in a PID namespace and ends with it. Ask for it: quietus run --isolate -- CMD", ""},
    {Means::cgroup, "cgroup.kill meets all of it at once; nothing has to be asked for.",
     " A command that is root can leave its cgroup, and is then met one process at a time: a fork "
     "bomb "},
    {Means::sweep,
     "What a command starts is looked for and killed, one process at a time, until the kernel says "
     "that no child is left. Daemons and fork-hoppers end.",
     " A fork bomb "},
};

bool confirms(std::string_view receipt) {
  return receipt.starts_with("{\"cleanup_confirmed\": true,");
}

void write_time(Page& page, Span span) {
  const std::int64_t hundredths = span / 10us;
  page << hundredths / 100 << (hundredths % 100 < 10 ? ".0" : ".") << hundredths % 100 << " ms";
}

void write_actors(Page& page, const Demonstration& seen) {
  page << "\nFour processes that do not want to end\n";
  for (int role = 0; role < kRoleCount; ++role) {
    const Roles bit = 1u << role;
    const char* fate = (seen.ended & bit) != 0 ? "lived, gone  " : "STILL LIVES  ";
    page << "  " << ((seen.lived & bit) != 0 ? fate : "NOT STARTED  ") << kRoles[role] << "\n";
  }
}

void write_end(Page& page, const Method& method, const Demonstration& seen) {
  page << "Asked to end, " << (seen.ignored == kEverybody ? "all" : "not all")
       << " of them lived on. Then ended in ";
  write_time(page, seen.took);
  page << ".\nThe pipe is " << (seen.pipe_at_end ? "at its end" : "still held") << "; exit code ";
  seen.exit_code ? page << *seen.exit_code : page << "unknown";
  page << ".\nReceipt: ";
  if (method.receipt.empty()) {
    page << "none, for want of a directory that could take it";
  } else {
    page << (seen.receipt.empty() ? "none" : seen.receipt.c_str());
  }
  page.wrap();
}

void write_guarantee(Page& page, const Demonstration& seen) {
  const Conclusive conclusion = read_conclusion(seen.message);
  for (const Guarantee& guarantee : kGuarantees) {
    if (conclusion.means != name(guarantee.means)) continue;
    page << "The strongest guarantee here, proven by " << conclusion.proof << ", by means of "
         << conclusion.means << ": ";
    if (guarantee.means != Means::sweep) page << kStrong;
    (page << guarantee.promise).wrap() << "What can still escape: " << kOthers;
    if (!guarantee.escape.empty()) page << guarantee.escape << kHonest;
    page.wrap();
    return;
  }
  page << "What gave the proof is not known: the supervisor could not say it.\n";
}

}  // namespace

Conclusive read_conclusion(std::string_view message) {
  constexpr std::string_view kConfirmed = "cleanup confirmed: ";
  constexpr std::string_view kBy = " by ";
  const std::size_t found = message.find(kConfirmed);
  if (found == std::string_view::npos) return {};
  message.remove_prefix(found + kConfirmed.size());
  const std::string_view line = message.substr(0, message.find('\n'));
  const std::size_t by = line.find(kBy);
  if (by == std::string_view::npos) return {};
  return {line.substr(0, by), line.substr(by + kBy.size())};
}

bool passed(const Method& method, const Demonstration& seen) {
  const bool recorded = method.receipt.empty() || confirms(seen.receipt);
  return seen.lived == kEverybody && seen.ended == kEverybody && seen.pipe_at_end && recorded &&
         seen.exit_code == kExitStopped;
}

void write_findings(Page& page, const Place& place, const Method& method,
                    const Demonstration& seen) {
  page << "quietus doctor: what can be promised in this place\n\n";
  write_platform(page, place);
  write_c_library(page << ", ", place.c_libraries.front());
  page << "\n";
  write_trials(page, place, Purpose::killing);
  write_actors(page, seen);
  if (seen.lived != 0) write_end(page, method, seen);
  if (passed(method, seen)) {
    page << "\n";
    write_guarantee(page, seen);
    page << "\nPassed.\n";
  } else {
    (page << seen.message).wrap() << "No guarantee can be given here.\n\nFAILED.\n";
  }
}

int doctor(sys::Gate& gate) {
  const auto examined = examine(gate);
  if (!examined) return kExitTrouble;
  const Place& place = **examined;
  Method method;
  method.shield = place.means[kShield].works;
  method.isolate = !method.shield && place.means[kIsolate].works;
  for (const Directory& directory : place.directories) {
    if (!directory.uses[kWrite].works || !method.receipt.empty()) continue;
    method.receipt = directory.path;
    method.receipt += "/.quietus-doctor-";
    method.receipt += own_name(gate);
  }
  const Demonstration seen = demonstrate(gate, method);
  Page page;
  write_findings(page, place, method, seen);
  const auto printed = sys::write_all(gate, 1, page.text());
  return printed && passed(method, seen) ? kExitSuccess : kExitTrouble;
}

}  // namespace quietus
