#include "faults/run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "harness/tools.hpp"
#include "supervisor/guardian.hpp"

namespace faults {
namespace {

constexpr int kUpSlot = 3;
constexpr int kNamespaces = CLONE_NEWPID | CLONE_NEWNS;

// The first process of the namespace: sets the scene, starts quietus, does what the case wants done
// to it, and looks at what is left.
class Init {
 public:
  Init(const Place& place, const Case& made, const Fault& fault, Facts& facts, bool trace)
      : place_(place), case_(made), facts_(facts) {
    setup_.fault = fault;
    setup_.given = made.given;
    setup_.scratch = place.paths.scratch;
    setup_.receipt = made.options.receipt;
    setup_.own_proc = place.paths.own_proc();
    setup_.trace = trace;
  }

  [[noreturn]] void run() {
    set_the_scene();
    for (int& stranger : strangers_) stranger = start_stranger();
    const auto start = harness::Clock::now();
    start_quietus();
    watch(start);
    look();
    facts_.finished = 1;
    _exit(0);
  }

 private:
  void check(bool good, const char* step) {
    if (good) return;
    facts_.setup_error = errno;
    std::snprintf(facts_.setup_step, sizeof facts_.setup_step, "%s", step);
    _exit(1);
  }

  void set_the_scene() {
    const Paths& paths = place_.paths;
    const char* scratch = paths.scratch.c_str();
    if (!place_.cgroup_procs.empty()) {
      const int group = open(place_.cgroup_procs.c_str(), O_WRONLY | O_CLOEXEC);
      check(group >= 0 && write(group, "0", 1) == 1, "cgroup.procs");
      close(group);
    }
    check(setsid() > 0, "setsid");
    // Whoever runs the sweep in the background ignores SIGINT, and quietus would too.
    for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_DFL);
    check(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "mount private");
    check(mount("tmpfs", scratch, "tmpfs", 0, "mode=0777") == 0, "mount tmpfs");
    umask(0);
    for (const std::string& name : {paths.own_proc(), paths.scratch + "/out"}) {
      check(mkdir(name.c_str(), 0777) == 0, "mkdir");
    }
    umask(022);
    check(mount("proc", "/proc", "proc", 0, nullptr) == 0, "mount /proc");
    check(mount("proc", paths.own_proc().c_str(), "proc", 0, nullptr) == 0, "mount proc");
    copy_actor();
    const int page = open(paths.beats().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    check(page >= 0 && ftruncate(page, 4096) == 0 && fchmod(page, 0666) == 0, "beats");
    void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    check(mapped != MAP_FAILED, "beats");
    beats_ = static_cast<std::uint64_t*>(mapped);
    close(page);
    if (case_.asked_before) {
      touch(case_.options.stop_file);
      touch(case_.options.expire_file);
    }
  }

  // Not a bind mount: it must be reachable for every uid, whatever directory it was built in.
  void copy_actor() {
    const int from = open(place_.actor.c_str(), O_RDONLY | O_CLOEXEC);
    const int to = open(place_.paths.actor.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    check(from >= 0 && to >= 0, "actor");
    struct stat size {};
    check(fstat(from, &size) == 0, "actor");
    for (off_t left = size.st_size; left > 0;) {
      const ssize_t copied =
          copy_file_range(from, nullptr, to, nullptr, static_cast<std::size_t>(left), 0);
      check(copied > 0 || copy_by_hand(from, to), "copy of the actor");
      if (copied <= 0) break;
      left -= copied;
    }
    close(from);
    close(to);
  }

  static bool copy_by_hand(int from, int to) {
    static char buffer[1 << 16];
    ssize_t got = 0;
    while ((got = read(from, buffer, sizeof buffer)) > 0) {
      if (write(to, buffer, static_cast<std::size_t>(got)) != got) return false;
    }
    return got == 0;
  }

  static void touch(const std::string& path) {
    if (path.empty()) return;
    close(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  }

  // A bystander of the same user: the first in the process group of quietus, the second outside.
  int start_stranger() {
    const bool outside = strangers_[0] != 0;
    const int pid = fork();
    check(pid >= 0, "fork of a stranger");
    if (pid != 0) return pid;
    if (outside) setsid();
    become_user();
    for (;;) pause();
  }

  void become_user() const {
    if (case_.uid == 0) return;
    if (setresuid(case_.uid, case_.uid, case_.uid) != 0) _exit(1);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // as after an exec
  }

  void start_quietus() {
    const bool by_parent = case_.event == Event::parent_leaves;
    quietus_ = fork();
    check(quietus_ >= 0, "fork of quietus");
    if (quietus_ == 0 && by_parent) {
      parent_of_quietus();
    } else if (quietus_ == 0) {
      be_quietus();
    }
    if (by_parent) {
      parent_ = quietus_;
      // The gate says its pid as soon as it is there.
      check(harness::eventually([&] { return facts_.guardian != 0; }), "start of quietus");
      quietus_ = facts_.guardian;
    }
  }

  [[noreturn]] void parent_of_quietus() {
    if (fork() == 0) be_quietus();
    for (;;) pause();
  }

  [[noreturn]] void be_quietus() {
    const int null = open("/dev/null", O_RDWR);
    const int message = open((place_.paths.scratch + "/message").c_str(), O_WRONLY | O_CREAT, 0666);
    dup2(null, 0);
    dup2(null, 1);
    dup2(message, 2);
    become_user();
    FaultGate gate(facts_, setup_);
    _exit(quietus::supervise(gate, case_.options, getppid()));
  }

  void watch(harness::Clock::time_point start) {
    const double bound = bound_of(case_, setup_.fault);
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, quietus_, 0));
    check(pidfd >= 0, "pidfd_open");
    for (;;) {
      const bool pending = case_.event != Event::none && facts_.event_happened == 0;
      pollfd end{.fd = pidfd, .events = POLLIN, .revents = 0};
      if (poll(&end, 1, pending ? 1 : 50) == 1) break;
      const bool up = __atomic_load_n(&beats_[kUpSlot], __ATOMIC_RELAXED) != 0;
      // The worker can be faster than the note of its grandparent.
      if (pending && up && facts_.supervisor != 0) do_event();
      if (harness::seconds_since(start) > bound) {
        facts_.hung = 1;
        facts_.seconds = harness::seconds_since(start);
        return;
      }
    }
    if (parent_ != 0 && facts_.event_happened == 0) end_parent();  // then its zombie is ours
    if (waitpid(quietus_, &facts_.status, 0) != quietus_) facts_.status = -1;
    if (case_.event == Event::kill_guardian && facts_.event_happened != 0) {
      // The supervisor has it all in its hands now. It was adopted by us.
      const bool ended = harness::eventually([&] { return !lives(facts_.supervisor); }, bound);
      facts_.hung = ended ? 0 : 1;
    }
    facts_.seconds = harness::seconds_since(start);
  }

  void do_event() {
    facts_.event_happened = 1;
    switch (case_.event) {
      case Event::none: return;
      case Event::terminate: kill(quietus_, SIGTERM); return;
      case Event::interrupt_twice:
        kill(quietus_, SIGINT);
        // A second one that comes before the first is read is the same one.
        (void)poll(nullptr, 0, 5);
        kill(quietus_, SIGINT);
        return;
      case Event::stop_file: return touch(case_.options.stop_file);
      case Event::parent_leaves: return end_parent();
      case Event::kill_supervisor: kill(facts_.supervisor, SIGKILL); return;
      case Event::kill_guardian: kill(quietus_, SIGKILL); return;
    }
  }

  void end_parent() const {
    kill(parent_, SIGKILL);
    waitpid(parent_, nullptr, 0);
  }

  // Also collects what was adopted.
  static bool lives(int pid) {
    if (pid <= 0) return false;
    if (waitpid(pid, nullptr, WNOHANG) == pid) return false;
    return kill(pid, 0) == 0;
  }

  void look() {
    // A half has some instructions left when its exit code is there to be seen.
    for (const int half : {facts_.supervisor.load(), facts_.guardian.load()}) {
      if (!harness::eventually([&] { return !lives(half); }, 0.3)) ++facts_.halves_left;
    }
    for (const int stranger : strangers_) {
      if (waitpid(stranger, nullptr, WNOHANG) != 0) ++facts_.strangers_lost;
    }
    const Living living = living_actors(place_.paths.own_proc().c_str(), facts_, facts_.alive_text);
    facts_.alive = living.count;
    facts_.attached = living.attached;
    struct stat there {};
    facts_.has_receipt = lstat(case_.options.receipt.c_str(), &there) == 0 ? 1 : 0;
    copy(case_.options.receipt, facts_.receipt, sizeof facts_.receipt);
    copy(place_.paths.scratch + "/message", facts_.message, sizeof facts_.message);
    if (setup_.trace) {
      for (const std::string& name : {place_.paths.scratch + "/trace", case_.options.report}) {
        std::fprintf(stderr, "%s", harness::read_file(name).c_str());
      }
    }
  }

  static void copy(const std::string& path, char* into, std::size_t size) {
    std::snprintf(into, size, "%s", harness::read_file(path).c_str());
  }

  const Place& place_;
  const Case& case_;
  Facts& facts_;
  GateSetup setup_;
  std::uint64_t* beats_ = nullptr;
  int strangers_[2] = {0, 0};
  int quietus_ = 0;
  int parent_ = 0;
};

}  // namespace

double bound_of(const Case& made, const Fault& fault) {
  const auto seconds = [](quietus::Span span) { return static_cast<double>(span.count()) / 1e9; };
  double bound = seconds(made.options.timeout.value_or(quietus::Span{})) +
                 3 * seconds(made.options.cleanup_timeout) + 2;
  // Without its clock quietus counts whole seconds, in each of four phases.
  if (fault.kind.starts_with("clock_gettime monotonic")) bound += 4;
  return bound;
}

pid_t start_run(const Place& place, const Case& made, const Fault& fault, Facts& facts,
                bool trace) {
  const long pid = syscall(SYS_clone, kNamespaces | SIGCHLD, 0, 0, 0, 0);
  if (pid < 0) return -errno;
  if (pid == 0) Init(place, made, fault, facts, trace).run();
  return static_cast<pid_t>(pid);
}

}  // namespace faults
