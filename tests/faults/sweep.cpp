// The fault sweep. Without arguments: every case, every kind of request that a run of it makes,
// some faults each. QUIETUS_SWEEP=full tries them all, which takes hours of one core.
//
//   faults                      the sweep; the last line is "N passed, N failed", counted in cases
//   faults CASE                 one case only
//   faults CASE FAULT [trace]   one run, told in full; FAULT as the sweep prints it, or "none"
//   faults list                 the cases
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "faults/judge.hpp"
#include "faults/plan.hpp"
#include "faults/run.hpp"
#include "harness/descendants.hpp"
#include "harness/features.hpp"
#include "harness/tools.hpp"

namespace faults {
namespace {

// Most of a run is waiting.
constexpr std::size_t kRunsPerCore = 12;
constexpr int kCensuses = 3;
constexpr std::size_t kShownViolations = 400;
constexpr double kHardBound = 30;

struct Job {
  const Case* made = nullptr;
  Fault fault;
  bool baseline = false;
};

struct Tally {
  std::size_t runs = 0;
  std::size_t struck = 0;
  std::size_t violations = 0;
  std::set<std::string> kinds;
};

class Sweep {
 public:
  Sweep() {
    char name[] = "/tmp/quietus-faults-XXXXXX";
    if (mkdtemp(name) == nullptr) fail("mkdtemp");
    chmod(name, 0755);
    place_.paths = {name, std::string(name) + "/actor"};
    place_.actor = harness::actor_binary();
    if (geteuid() != 0) enter_user_namespace();
    make_cgroup();
    cases_ = all_cases(place_.paths);
    std::erase_if(cases_, [&](const Case& made) { return !possible(made); });
    slots_.resize(std::max<std::size_t>(1, std::thread::hardware_concurrency()) * kRunsPerCore);
    for (Slot& slot : slots_) {
      void* page =
          mmap(nullptr, sizeof(Facts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (page == MAP_FAILED) fail("mmap");
      slot.facts = static_cast<Facts*>(page);
    }
  }

  ~Sweep() {
    remove_cgroup();
    rmdir(place_.paths.scratch.c_str());
  }

  [[nodiscard]] const std::vector<Case>& cases() const { return cases_; }

  int all(const std::string& only) {
    const auto start = harness::Clock::now();
    const char* wanted = std::getenv("QUIETUS_SWEEP");
    const Breadth breadth =
        wanted != nullptr && std::strcmp(wanted, "full") == 0 ? Breadth::full : Breadth::quick;
    for (const Case& made : cases_) {
      if (!only.empty() && made.name != only) continue;
      tally_[made.name];
      for (int i = 0; i < kCensuses; ++i) jobs_.push_back({&made, {}, true});
    }
    execute();
    for (const Case& made : cases_) {
      for (Fault& fault : plan(made, censuses_[made.name], breadth)) {
        jobs_.push_back({&made, std::move(fault), false});
      }
    }
    execute();
    return conclude(harness::seconds_since(start));
  }

  int one(const std::string& name, const std::string& text, bool trace) {
    for (const Case& made : cases_) {
      if (made.name != name) continue;
      const auto fault = text == "none" ? Fault{} : Fault::parse(text);
      if (!fault) fail("no such fault");
      Slot& slot = slots_.front();
      start(slot, {&made, *fault, text == "none"}, trace);
      if (waitpid(slot.init, nullptr, 0) != slot.init) fail("waitpid");
      std::printf("%s\n", summary(*slot.facts).c_str());
      const auto wrong = judge(slot);
      for (const std::string& what : wrong) std::printf("  %s\n", what.c_str());
      return wrong.empty() ? 0 : 1;
    }
    fail("no such case");
  }

 private:
  struct Slot {
    Facts* facts = nullptr;
    Job job;
    pid_t init = 0;
    harness::Clock::time_point started;
  };

  [[noreturn]] static void fail(const char* what) {
    std::perror(what);
    std::exit(2);
  }

  void enter_user_namespace() {
    const unsigned uid = geteuid();
    const unsigned gid = getegid();
    if (unshare(CLONE_NEWUSER) != 0) fail("neither root nor a user namespace");
    harness::write_file("/proc/self/setgroups", "deny");
    harness::write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    harness::write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
    place_.user_namespace = true;
  }

  // A group of the sweep's own, below which quietus makes its leaves.
  void make_cgroup() {
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      const std::string parent(mount);
      if (!harness::exists(parent + "/cgroup.subtree_control")) continue;
      const std::string group = parent + "/quietus-faults-" + std::to_string(getpid());
      if (mkdir(group.c_str(), 0755) != 0) continue;
      if (!harness::exists(group + "/cgroup.kill")) {
        rmdir(group.c_str());
        continue;
      }
      cgroup_ = group;
      place_.cgroup_procs = group + "/cgroup.procs";
      return;
    }
  }

  void remove_cgroup() {
    if (cgroup_.empty()) return;
    harness::write_file(cgroup_ + "/cgroup.kill", "1");
    harness::eventually(
        [&] {
          remove_leaves();
          return rmdir(cgroup_.c_str()) == 0;
        },
        5);
  }

  // Faults of rmdir leave leaves behind.
  void remove_leaves() {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(cgroup_, error)) {
      if (entry.is_directory(error)) rmdir(entry.path().c_str());
    }
  }

  bool possible(const Case& made) {
    std::string missing;
    if (made.needs_cgroup && cgroup_.empty()) missing = "a writable cgroup v2";
    if (made.needs_shield && !harness::has_signal_scope()) missing = "Landlock's signal scope";
    const bool other_user = made.uid != 0 || made.options.worker.user;
    if (other_user && place_.user_namespace) missing = "root";
    // In a chroot nobody gets one.
    if (made.uid != 0 && made.options.isolate && !harness::has_user_namespaces()) {
      missing = "a user namespace";
    }
    if (missing.empty()) return true;
    std::printf("not here: %s (needs %s)\n", made.name.c_str(), missing.c_str());
    return false;
  }

  void start(Slot& slot, Job job, bool trace = false) {
    slot.job = std::move(job);
    std::memset(static_cast<void*>(slot.facts), 0, sizeof(Facts));
    slot.init = start_run(place_, *slot.job.made, slot.job.fault, *slot.facts, trace);
    slot.started = harness::Clock::now();
    if (slot.init < 0) {
      errno = -slot.init;
      fail("clone");
    }
  }

  void execute() {
    std::size_t running = 0;
    while (running > 0 || !jobs_.empty()) {
      for (Slot& slot : slots_) {
        if (slot.init != 0 || jobs_.empty()) continue;
        start(slot, std::move(jobs_.front()));
        jobs_.pop_front();
        ++running;
      }
      int status = 0;
      const pid_t ended = waitpid(-1, &status, WNOHANG);
      if (ended == 0) {
        stop_overdue();
        usleep(500);
        continue;
      }
      for (Slot& slot : slots_) {
        if (slot.init != ended) continue;
        account(slot);
        slot.init = 0;
        --running;
      }
    }
  }

  // The init of a run bounds itself; this is for one that is broken.
  void stop_overdue() {
    for (const Slot& slot : slots_) {
      if (slot.init > 0 && harness::seconds_since(slot.started) > kHardBound) {
        kill(slot.init, SIGKILL);
      }
    }
  }

  static std::vector<std::string> judge(const Slot& slot) {
    const Job& job = slot.job;
    return job.baseline ? deviations(*job.made, *slot.facts)
                        : violations(*job.made, job.fault, *slot.facts);
  }

  void account(const Slot& slot) {
    const Job& job = slot.job;
    Tally& tally = tally_[job.made->name];
    ++tally.runs;
    if (slot.facts->struck > 0) ++tally.struck;
    if (job.baseline) {
      const Census seen = census(*slot.facts);
      Census& known = censuses_[job.made->name];
      known = known.empty() ? seen : common(known, seen);
    } else {
      tally.kinds.insert(job.fault.kind);
    }
    const auto wrong = judge(slot);
    if (wrong.empty()) return;
    ++tally.violations;
    if (++shown_ > kShownViolations) return;
    std::printf("VIOLATION '%s' '%s'\n", job.made->name.c_str(),
                job.baseline ? "none" : job.fault.text().c_str());
    for (const std::string& what : wrong) std::printf("    %s\n", what.c_str());
    std::printf("    %s\n", summary(*slot.facts).c_str());
    std::fflush(stdout);
  }

  int conclude(double seconds) {
    Tally total;
    int failed = 0;
    for (const auto& [name, tally] : tally_) {
      std::printf("%-40s %3zu kinds %6zu runs %6zu struck %4zu violations\n", name.c_str(),
                  tally.kinds.size(), tally.runs, tally.struck, tally.violations);
      total.runs += tally.runs;
      total.struck += tally.struck;
      total.violations += tally.violations;
      total.kinds.insert(tally.kinds.begin(), tally.kinds.end());
      if (tally.violations > 0) ++failed;
    }
    std::printf("# %zu request kinds, %zu runs, the fault struck in %zu, %zu violations, %.0f s\n",
                total.kinds.size(), total.runs, total.struck, total.violations, seconds);
    std::printf("%zu passed, %d failed\n", tally_.size() - static_cast<std::size_t>(failed),
                failed);
    return failed == 0 && total.runs > 0 ? 0 : 1;
  }

  Place place_;
  std::string cgroup_;
  std::vector<Case> cases_;
  std::vector<Slot> slots_;
  std::deque<Job> jobs_;
  std::map<std::string, Census> censuses_;
  std::map<std::string, Tally> tally_;
  std::size_t shown_ = 0;
};

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
  // Whatever a run leaves behind is ended here, and nowhere else.
  harness::become_subreaper();
  faults::Sweep sweep;
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "list") {
    for (const faults::Case& made : sweep.cases()) std::printf("%s\n", made.name.c_str());
    return 0;
  }
  if (argc > 2) return sweep.one(name, argv[2], argc > 3);
  return sweep.all(name);
}
