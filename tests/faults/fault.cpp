#include "faults/fault.hpp"

#include <cerrno>

#include <algorithm>
#include <cstring>

#include "harness/tools.hpp"

namespace faults {
namespace {

struct Code {
  int code;
  const char* name;
};

#define QUIETUS_CODE(name) \
  { name, #name }
constexpr Code kCodes[] = {
    QUIETUS_CODE(EPERM),        QUIETUS_CODE(ENOENT),     QUIETUS_CODE(ESRCH),
    QUIETUS_CODE(EINTR),        QUIETUS_CODE(EIO),        QUIETUS_CODE(ENXIO),
    QUIETUS_CODE(E2BIG),        QUIETUS_CODE(ENOEXEC),    QUIETUS_CODE(EBADF),
    QUIETUS_CODE(ECHILD),       QUIETUS_CODE(EAGAIN),     QUIETUS_CODE(ENOMEM),
    QUIETUS_CODE(EACCES),       QUIETUS_CODE(EFAULT),     QUIETUS_CODE(EBUSY),
    QUIETUS_CODE(EEXIST),       QUIETUS_CODE(EXDEV),      QUIETUS_CODE(ENODEV),
    QUIETUS_CODE(ENOTDIR),      QUIETUS_CODE(EISDIR),     QUIETUS_CODE(EINVAL),
    QUIETUS_CODE(ENFILE),       QUIETUS_CODE(EMFILE),     QUIETUS_CODE(ETXTBSY),
    QUIETUS_CODE(EFBIG),        QUIETUS_CODE(ENOSPC),     QUIETUS_CODE(EROFS),
    QUIETUS_CODE(EPIPE),        QUIETUS_CODE(ERANGE),     QUIETUS_CODE(ENOSYS),
    QUIETUS_CODE(ENAMETOOLONG), QUIETUS_CODE(ELOOP),      QUIETUS_CODE(EDQUOT),
    QUIETUS_CODE(ENOMSG),       QUIETUS_CODE(EOVERFLOW),  QUIETUS_CODE(EUSERS),
    QUIETUS_CODE(ELIBBAD),      QUIETUS_CODE(EOPNOTSUPP),
};
#undef QUIETUS_CODE

constexpr int kAnyCall[] = {EPERM, ENOSYS, EINTR, EAGAIN, ENOMEM, EIO};

struct Manual {
  const char* call;
  std::vector<int> codes;
};

// Section "ERRORS" of the manual pages; without EFAULT, which would be our own mistake.
const std::vector<Manual>& manual() {
  static const std::vector<Manual> pages = {
      {"chdir", {EACCES, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG}},
      {"clock_gettime", {EINVAL}},
      {"clone", {EINVAL, ENOSPC, EUSERS}},
      {"clone3", {EACCES, EBUSY, EINVAL, E2BIG, EOPNOTSUPP}},
      {"close", {EBADF}},
      {"close_range", {EINVAL, EMFILE}},
      {"dup3", {EBADF, EBUSY, EINVAL, EMFILE}},
      {"execve",
       {EACCES, ENOENT, ENOEXEC, ENOTDIR, EISDIR, E2BIG, ELIBBAD, ELOOP, ETXTBSY, EMFILE, EINVAL,
        ENAMETOOLONG}},
      {"fallocate", {EBADF, EFBIG, EINVAL, ENODEV, ENOSPC, EOPNOTSUPP, ETXTBSY}},
      {"fchmod", {EBADF, EROFS}},
      {"fcntl", {EBADF, EACCES, EINVAL, EBUSY}},
      {"flock", {EBADF, EINVAL}},
      {"fstat", {EBADF, EOVERFLOW}},
      {"fsync", {EBADF, EINVAL, ENOSPC, EROFS, EDQUOT}},
      {"ftruncate", {EBADF, EINVAL, EFBIG}},
      {"getcwd", {EACCES, EINVAL, ENOENT, ERANGE}},
      {"getdents64", {EBADF, EINVAL, ENOENT, ENOTDIR}},
      {"getpgid", {ESRCH}},
      {"getrandom", {EINVAL}},
      {"inotify_add_watch", {EACCES, EBADF, ENOENT, ENOSPC, ENOTDIR, ENAMETOOLONG}},
      {"inotify_init1", {EINVAL, EMFILE, ENFILE}},
      {"inotify_rm_watch", {EBADF, EINVAL}},
      {"kill", {EINVAL, ESRCH}},
      {"landlock_create_ruleset", {E2BIG, EINVAL, ENOMSG, EOPNOTSUPP}},
      {"landlock_restrict_self", {E2BIG, EBADF, EINVAL, EOPNOTSUPP}},
      {"linkat", {EACCES, EEXIST, ENOENT, ENOSPC, EROFS, EXDEV}},
      {"lseek", {EBADF, EINVAL, ENXIO}},
      {"mkdirat", {EACCES, EEXIST, ENOENT, ENOSPC, EROFS, ENOTDIR, EDQUOT}},
      {"mmap", {EACCES, EINVAL, ENFILE, ENODEV, EOVERFLOW}},
      {"mount", {EACCES, EBUSY, EINVAL, ENODEV, ENOENT}},
      {"nanosleep", {EINVAL}},
      {"newfstatat", {EACCES, ENOENT, ENOTDIR, ELOOP, EOVERFLOW, ENAMETOOLONG}},
      {"openat",
       {EACCES, EEXIST, EISDIR, ELOOP, EMFILE, ENFILE, ENODEV, ENOENT, ENOSPC, ENOTDIR, ENXIO,
        EROFS, ETXTBSY, EDQUOT, ENAMETOOLONG}},
      {"pidfd_open", {EINVAL, EMFILE, ENFILE, ENODEV, ESRCH}},
      {"pidfd_send_signal", {EBADF, EINVAL, ESRCH}},
      {"pipe2", {EINVAL, EMFILE, ENFILE}},
      {"ppoll", {EINVAL}},
      {"prctl", {EACCES, EINVAL}},
      {"prlimit64", {EINVAL, ESRCH}},
      {"pwrite64", {EBADF, EDQUOT, EFBIG, EINVAL, ENOSPC}},
      {"read", {EBADF, EINVAL, EISDIR}},
      {"readlinkat", {EACCES, EINVAL, ENOENT, ENOTDIR, ELOOP}},
      {"renameat", {EACCES, EBUSY, EDQUOT, EISDIR, ENOENT, ENOSPC, ENOTDIR, EROFS, EXDEV}},
      {"rt_sigaction", {EINVAL}},
      {"rt_sigprocmask", {EINVAL}},
      {"setgroups", {EINVAL}},
      {"setresgid", {EINVAL}},
      {"setresuid", {EINVAL}},
      {"signalfd4", {EBADF, EINVAL, EMFILE, ENFILE, ENODEV}},
      {"splice", {EBADF, EINVAL}},
      {"symlinkat", {EACCES, EEXIST, ENOENT, ENOSPC, EROFS, EDQUOT}},
      {"unlinkat", {EACCES, EBUSY, EISDIR, ENOENT, EROFS}},
      {"waitid", {ECHILD, EINVAL}},
      {"write", {EBADF, EDQUOT, EFBIG, EINVAL, ENOSPC, EPIPE}},
  };
  return pages;
}

std::string call_of(const std::string& kind) { return kind.substr(0, kind.find_first_of(" (")); }

bool is_proof(const std::string& kind, int code) {
  // "There is no child", said by the one call that knows.
  if (code == ECHILD) return true;
  // "Nobody is there": the question is asked with signal 0 and never otherwise.
  return code == ESRCH && (kind == "kill(group,0)" || kind == "kill(all,0)");
}

const char* role_name(Role role) {
  switch (role) {
    case Role::guardian: return "guardian";
    case Role::supervisor: return "supervisor";
    case Role::child: return "child";
  }
  return "";
}

}  // namespace

std::string errno_name(int code) {
  for (const Code& known : kCodes) {
    if (known.code == code) return known.name;
  }
  return std::to_string(code);
}

std::string Fault::text() const {
  std::string out = kind + "/";
  out += way == Way::refuse ? errno_name(code) : way == Way::pretend ? "pretend" : "shorten";
  out += "/" + std::to_string(nth) + (lasting ? "/lasting" : "/once");
  if (role) out += std::string("/") + role_name(*role);
  return out;
}

// The kind may hold slashes itself: the words are taken from the end.
std::optional<Fault> Fault::parse(std::string_view text) {
  auto words = harness::split(text, '/');
  Fault fault;
  for (const Role role : {Role::guardian, Role::supervisor, Role::child}) {
    if (!words.empty() && words.back() == role_name(role)) fault.role = role;
  }
  if (fault.role) words.pop_back();
  if (words.size() < 4) return {};
  fault.lasting = words.back() == "lasting";
  words.pop_back();
  fault.nth = static_cast<std::uint32_t>(std::stoul(words.back()));
  words.pop_back();
  const std::string way = words.back();
  words.pop_back();
  if (way == "pretend") fault.way = Way::pretend;
  if (way == "shorten") fault.way = Way::shorten;
  for (const Code& known : kCodes) {
    if (way == known.name) fault.code = known.code;
  }
  if (fault.way == Way::refuse && fault.code == 0) return {};
  for (const std::string& word : words) fault.kind += (fault.kind.empty() ? "" : "/") + word;
  return fault;
}

std::vector<int> errnos_of(const std::string& kind) {
  std::vector<int> codes(std::begin(kAnyCall), std::end(kAnyCall));
  for (const Manual& page : manual()) {
    if (call_of(kind) == page.call) codes.insert(codes.end(), page.codes.begin(), page.codes.end());
  }
  std::erase_if(codes, [&](int code) { return is_proof(kind, code); });
  return codes;
}

bool may_pretend(const std::string& kind) {
  constexpr const char* kCalls[] = {"chdir",
                                    "kill",
                                    "landlock_restrict_self",
                                    "mount",
                                    "pidfd_send_signal",
                                    "prctl",
                                    "prlimit64",
                                    "setgroups",
                                    "setresgid",
                                    "setresuid",
                                    "setsid"};
  if (kind == "clone(namespaces)" || kind == "clone3") return true;
  if (kind.starts_with("write cgroup") || kind.starts_with("write /proc")) return true;
  return std::ranges::any_of(kCalls, [&](const char* call) { return call_of(kind) == call; });
}

// A message on a pipe is whole or not there: the kernel never cuts one of this size.
bool may_shorten(const std::string& kind) {
  const bool transfers =
      kind.starts_with("read ") || kind.starts_with("write ") || kind.starts_with("pwrite64 ");
  return transfers && kind.find("pipe") == kind.npos && kind.find("signalfd") == kind.npos &&
         kind.find("inotify") == kind.npos && kind.find("cgroup") == kind.npos;
}

bool must_work_at_last(const std::string& kind) { return call_of(kind) == "exit_group"; }

}  // namespace faults
