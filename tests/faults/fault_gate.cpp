#include "faults/fault_gate.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "faults/facts.hpp"
#include "kernel/numbers.hpp"

namespace faults {
namespace {

using quietus::sys::Request;

constexpr std::uint64_t kCloneNamespaces =
    quietus::sys::kCloneNewNs | quietus::sys::kCloneNewUser | quietus::sys::kCloneNewPid;

// The kernel's PF_EXITING: past the point where it can run again, though not yet a zombie.
constexpr long kExiting = 4;

// The first numbers of a run: init, the two strangers, and whoever starts quietus (quietus itself,
// where init does).
constexpr int kLastOfTheTest = 4;

// What a row of /proc says of a process: "PID (NAME) STATE PPID PGID SID TTY TPGID FLAGS ...".
struct Row {
  char state = 0;  // 0: no such row
  long sid = 0;
  long flags = 0;
};

Row row_of(const char* line) {
  const char* after_name = std::strrchr(line, ')');
  if (after_name == nullptr || std::strlen(after_name) < 4) return {};
  long fields[6] = {};  // PPID to FLAGS
  const char* at = after_name + 3;
  for (long& field : fields) {
    char* end = nullptr;
    field = std::strtol(at, &end, 10);
    if (end == at) return {};
    at = end;
  }
  return {.state = after_name[2], .sid = fields[2], .flags = fields[5]};
}

}  // namespace

FaultGate::FaultGate(Facts& facts, const GateSetup& setup)
    : facts_(facts),
      setup_(setup),
      fault_hash_(setup.fault.kind.empty() ? 0 : hash(setup.fault.kind.c_str())),
      descriptors_(setup.scratch) {
  facts_.guardian = getpid();
}

long FaultGate::perform(const Request& request) noexcept {
  char kind[kKindText];
  describe(request, descriptors_, kind);
  const Role role = role_;
  const std::uint32_t nth = count(kind);
  int code = 0;
  long answer = 0;
  if (is_given(kind, code)) {
    answer = -code;
  } else if (strikes(kind, nth)) {
    ++facts_.struck;
    answer = strike(request, kind);
  } else {
    answer = forward(request);
  }
  if (setup_.trace) trace(role, kind, answer);
  return answer;
}

// Which call of its kind this is: of the role that the fault is about, or of all.
std::uint32_t FaultGate::count(const char* kind) {
  const std::uint64_t key = hash(kind);
  for (int at = 0; at < kMostKinds; ++at) {
    KindCount& entry = facts_.kinds[(key + static_cast<unsigned>(at)) % kMostKinds];
    std::uint64_t there = 0;
    if (entry.hash.compare_exchange_strong(there, key)) {
      std::snprintf(entry.name, sizeof entry.name, "%s", kind);
    } else if (there != key) {
      continue;
    }
    const auto role = static_cast<std::size_t>(role_);
    const std::uint32_t own = ++entry.calls[role];
    if (setup_.fault.role) return own;
    std::uint32_t all = 0;
    for (const auto& calls : entry.calls) all += calls;
    return all;
  }
  return 0;
}

bool FaultGate::is_given(const char* kind, int& code) const {
  for (const Fault& given : setup_.given) {
    const bool same = std::strncmp(kind, given.kind.c_str(), given.kind.size()) == 0;
    if (!same || (given.role && *given.role != role_)) continue;
    code = given.code;
    return true;
  }
  return false;
}

bool FaultGate::strikes(const char* kind, std::uint32_t nth) const {
  const Fault& fault = setup_.fault;
  if (fault_hash_ == 0 || hash(kind) != fault_hash_) return false;
  if (fault.role && *fault.role != role_) return false;
  return fault.lasting ? nth >= fault.nth : nth == fault.nth;
}

long FaultGate::strike(const Request& request, const char* kind) {
  Request changed = request;
  switch (setup_.fault.way) {
    case Way::refuse:
      // Linux releases the number whatever it answers.
      if (request.number == SYS_close) (void)forward(request);
      return -setup_.fault.code;
    case Way::shorten:
      changed.args[2] = request.args[2] > 1 ? request.args[2] / 2 : request.args[2];
      return forward(changed);
    case Way::pretend: break;
  }
  if (request.number == SYS_clone) {
    changed.args[0] &= ~static_cast<long>(kCloneNamespaces);
    return forward(changed);
  }
  if (request.number == SYS_clone3) {
    auto args = *reinterpret_cast<const quietus::sys::CloneArgs*>(request.args[0]);
    args.flags = 0;
    args.cgroup = 0;
    changed.args[0] = reinterpret_cast<long>(&args);
    return forward(changed);
  }
  return std::strncmp(kind, "write ", 6) == 0 ? request.args[2] : 0;
}

long FaultGate::forward(const Request& request) {
  if (request.number == SYS_renameat &&
      setup_.receipt == reinterpret_cast<const char*>(request.args[3])) {
    look_who_lives();
  }
  if (request.number == SYS_execve) ++facts_.programs_tried;
  const long answer = Gate::perform(request);
  if (request.number == SYS_execve) ++facts_.programs_refused;
  note(request, answer);
  return answer;
}

void FaultGate::note(const Request& request, long answer) {
  descriptors_.note(request, answer);
  if (answer < 0) return;
  switch (request.number) {
    case SYS_clone:
    case SYS_clone3: return note_fork(answer);
    case SYS_waitid: return note_wait(request);
    case SYS_renameat:
      if (setup_.receipt == reinterpret_cast<const char*>(request.args[3])) ++facts_.receipts;
      return;
    default: return;
  }
}

void FaultGate::note_fork(long answer) {
  const bool guardian = role_ == Role::guardian;
  if (answer == 0) {
    role_ = guardian ? Role::supervisor : Role::child;
    if (!guardian) return;
    // Its parent may not have got so far. In a namespace of its own it has another number there.
    char self[16] = "";
    (void)!readlink((setup_.own_proc + "/self").c_str(), self, sizeof self - 1);
    facts_.supervisor = static_cast<int>(std::strtol(self, nullptr, 10));
  } else {
    (guardian ? facts_.supervisor : facts_.worker) = static_cast<int>(answer);
  }
}

void FaultGate::note_wait(const Request& request) {
  const auto& info = *reinterpret_cast<const siginfo_t*>(request.args[2]);
  if (info.si_pid == 0 || info.si_pid != facts_.worker) return;
  if (info.si_code == CLD_EXITED) {
    facts_.worker_code = info.si_status;
  } else if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
    facts_.worker_code = -info.si_status;
  } else {
    return;
  }
  facts_.worker_collected = 1;
}

void FaultGate::trace(Role role, const char* kind, long answer) const {
  char line[128];
  const int length =
      std::snprintf(line, sizeof line, "%d %s = %ld\n", static_cast<int>(role), kind, answer);
  // Opened each time: quietus closes what it does not know.
  const int file = open((setup_.scratch + "/trace").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  (void)!write(file, line, static_cast<std::size_t>(length));
  close(file);
}

void FaultGate::look_who_lives() {
  const Living living =
      living_actors(setup_.own_proc.c_str(), facts_, facts_.alive_at_receipt_text);
  facts_.alive_at_receipt = living.count;
  facts_.attached_at_receipt = living.attached;
}

Living living_actors(const char* proc, const Facts& facts, char (&text)[kNoteText]) {
  Living living;
  text[0] = '\0';
  DIR* directory = opendir(proc);
  if (directory == nullptr) {
    std::snprintf(text, sizeof text, "cannot read %s: %s", proc, std::strerror(errno));
    return {.count = 1, .attached = 1};
  }
  while (const dirent* entry = readdir(directory)) {
    const auto pid = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= kLastOfTheTest || pid == facts.guardian || pid == facts.supervisor) continue;
    char path[64];
    std::snprintf(path, sizeof path, "%.40s/%d/stat", proc, pid);
    FILE* file = std::fopen(path, "re");
    if (file == nullptr) continue;
    char line[512] = "";
    const std::size_t length = std::fread(line, 1, sizeof line - 1, file);
    std::fclose(file);
    line[length] = '\0';
    const Row row = row_of(line);
    if (row.state == 0 || row.state == 'Z' || row.state == 'X') continue;
    if ((row.flags & kExiting) != 0) continue;
    ++living.count;
    const bool attached = row.sid <= 1 || row.sid == facts.worker || row.sid == facts.supervisor ||
                          row.sid == facts.guardian;
    if (attached) ++living.attached;
    const std::size_t used = std::strlen(text);
    std::snprintf(text + used, sizeof text - used, "%.50s...; ", line);
  }
  closedir(directory);
  return living;
}

}  // namespace faults
