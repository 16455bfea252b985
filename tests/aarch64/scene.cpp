#include "scene.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "harness/receipt_file.hpp"

namespace guest {

namespace fs = std::filesystem;

namespace {

constexpr const char* kBeats = "/tmp/case/beats";
constexpr size_t kSlots = 512;  // as the actor has it
constexpr const char* kCgroups = "/sys/fs/cgroup";

[[noreturn]] void give_up(const char* what) {
  dprintf(2, "set-up: %s: %s\n", what, strerror(errno));
  _exit(99);
}

void unmount(const char* where) {
  if (umount2(where, MNT_DETACH) != 0) give_up(where);
}

// In the child, on the way to quietus.
[[noreturn]] void become_quietus(const Words& words, const Place& place) {
  const int out = open("/tmp/case/out", O_WRONLY | O_CREAT | O_APPEND, 0666);
  const int null = open("/dev/null", O_RDONLY);
  if (out < 0 || null < 0) give_up("/tmp/case/out");
  for (const int fd : {0, 1, 2}) dup2(fd == 0 ? null : out, fd);
  fcntl(2, F_SETFD, 0);
  if (!place.cgroup.empty()) write_file(place.cgroup + "/cgroup.procs", "0");
  if (unshare(CLONE_NEWNS) != 0) give_up("unshare");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) give_up("mount /");
  if (place.cgroup.empty()) unmount(kCgroups);
  if (!place.dev) unmount("/dev");
  if (!place.proc) unmount("/proc");
  if (place.first_process && mount("proc", "/proc", "proc", 0, nullptr) != 0) give_up("proc");
  if (place.uid != 0 && (setresgid(place.uid, place.uid, place.uid) != 0 ||
                         setresuid(place.uid, place.uid, place.uid) != 0)) {
    give_up("setresuid");
  }
  if (chdir("/tmp/case") != 0) give_up("chdir");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (place.prepare) place.prepare();
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/bin:/bin";
  char* environment[] = {path, nullptr};
  close(null);
  close(out);
  if (!place.standard_descriptors) {
    for (const int fd : {0, 1, 2}) close(fd);
  }
  execve(argv[0], argv.data(), environment);
  give_up("execve");
}

bool holds(const Words& words, const char* word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void expect(bool holds, const std::string& what, Here here) {
  if (holds) return;
  const std::string file = fs::path(here.file_name()).filename().string();
  throw Failure(file + ":" + std::to_string(here.line()) + ": " + what);
}

std::string receipt(bool confirmed, std::optional<int> code, bool timed_out,
                    const std::string& error) {
  harness::ReceiptFile file{confirmed, code, {}, timed_out};
  if (!error.empty()) file.error = error;
  return file.bytes();
}

Place with_cgroup() {
  Place place;
  place.cgroup = kCgroups;
  return place;
}

Place unprivileged() {
  Place place;
  place.uid = 1000;
  return place;
}

// --- the end -----------------------------------------------------------------------------------

std::string Ended::error(Here here) const {
  std::string why;
  const auto parsed = harness::ReceiptFile::parse(receipt, why);
  expect(parsed.has_value(), why + ", said: " + out, here);
  return parsed->error.value_or("");
}

void Ended::told(const std::string& wanted, Here here) const {
  if (receipt == wanted) return;
  expect(false,
         "got '" + receipt + "' instead of '" + wanted + "', report: " + report + ", said: " + out,
         here);
}

Json Ended::parsed_report(Here here) const {
  try {
    Json json = Json::parse(report);
    std::optional<int> code;
    if (!json.is_null("/return_code")) code = static_cast<int>(json.integer("/return_code"));
    same(guest::receipt(json.boolean("/cleanup_confirmed"), code, json.boolean("/timed_out"),
                        json.is_null("/error") ? "" : json.text("/error")),
         receipt, here);
    return json;
  } catch (const Failure&) {
    throw;
  } catch (const std::exception& error) {
    expect(false, std::string(error.what()) + ": '" + report + "', said: " + out, here);
    throw;
  }
}

std::string Ended::means(Here here) const { return parsed_report(here).text("/means"); }

std::string Ended::proof(Here here) const {
  const Json report = parsed_report(here);
  return report.is_null("/proof") ? "null" : report.text("/proof");
}

bool Ended::fell_back(const std::string& call, Here here) const {
  return parsed_report(here).find("/fallbacks", "call", call) >= 0;
}

// --- the scene ---------------------------------------------------------------------------------

Scene::Scene(Reaper& reaper) : reaper_(reaper) {
  fs::remove_all("/tmp/case");
  fs::create_directory("/tmp/case");
  chmod("/tmp/case", 01777);
  const int fd = open(kBeats, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  expect(fd >= 0 && fchmod(fd, 0666) == 0 && ftruncate(fd, kSlots * sizeof(uint64_t)) == 0, kBeats);
  void* page = mmap(nullptr, kSlots * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  expect(page != MAP_FAILED, "mmap");
  page_ = static_cast<volatile uint64_t*>(page);
}

Words Scene::actor(const Words& script) {
  Words words = {"/actor", "bound:30000", std::string("beats:") + kBeats};
  words.insert(words.end(), script.begin(), script.end());
  return words;
}

pid_t Scene::bare(const Words& options, const Words& command, const Place& place) {
  Words words = {"/quietus", "--receipt", path("receipt"), "--report", path("report")};
  if (!holds(options, "--cleanup-timeout")) words.insert(words.end(), {"--cleanup-timeout", "2"});
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return start(words, place);
}

pid_t Scene::run(const Words& options, const Words& command, const Place& place) {
  Words words = {"/quietus", "run", "--receipt", path("receipt"), "--report", path("report")};
  if (!holds(options, "--cleanup-timeout")) words.insert(words.end(), {"--cleanup-timeout", "2"});
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return start(words, place);
}

pid_t Scene::start(const Words& words, const Place& place) {
  for (const char* old : {"receipt", "report", "out"}) unlink(path(old).c_str());
  for (size_t slot = 0; slot < kSlots; ++slot) page_[slot] = 0;
  receipt_seen_ = false;
  alive_at_the_receipt_.clear();
  start_ = Clock::now();
  // Past libc, whose fork cannot make the first process of a namespace.
  const long flags = SIGCHLD | (place.first_process ? CLONE_NEWPID : 0);
  const long child = syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr);
  expect(child >= 0, std::string("clone: ") + strerror(errno));
  if (child == 0) {
    try {
      become_quietus(words, place);
    } catch (const std::exception& error) {
      give_up(error.what());
    }
  }
  started_ = static_cast<pid_t>(child);
  return started_;
}

// At the first sight of a receipt: whoever is alive now was alive when it was written.
void Scene::look_at_the_receipt() {
  if (receipt_seen_ || !exists(path("receipt"))) return;
  receipt_seen_ = true;
  std::vector<Row> rows = everybody();
  std::erase_if(rows, [](const Row& row) { return row.comm == "quietus"; });
  alive_at_the_receipt_ = text(rows);
}

Ended Scene::collect(int status, Here here) {
  look_at_the_receipt();
  Ended ended;
  ended.status = status;
  ended.seconds = seconds_since(start_);
  ended.out = read_file(path("out"));
  ended.receipt = read_file(path("receipt"));
  ended.report = read_file(path("report"));
  const bool confirmed = ended.receipt.starts_with("{\"cleanup_confirmed\": true");
  expect(!confirmed || may_stay_ || alive_at_the_receipt_.empty(),
         "a confirmed receipt, and alive: " + alive_at_the_receipt_, here);
  return ended;
}

Ended Scene::end(double seconds, Here here) {
  int status = 0;
  const bool ended = reaper_.eventually(
      [&] {
        look_at_the_receipt();
        return reaper_.ended(started_, status);
      },
      seconds);
  expect(ended, "quietus does not end; alive: " + text(everybody()), here);
  return collect(status, here);
}

Ended Scene::end_of_the_other_half(double seconds, Here here) {
  const bool gone = reaper_.eventually(
      [&] {
        look_at_the_receipt();
        return everybody().empty();
      },
      seconds);
  expect(gone, "still alive: " + text(everybody()), here);
  int status = -1000;
  (void)reaper_.ended(started_, status);
  return collect(status, here);
}

pid_t Scene::supervisor(Here here) {
  pid_t found = 0;
  wait_for(
      "supervisor",
      [&] {
        for (const Row& row : children_of(started_)) found = row.pid;
        return found != 0;
      },
      here);
  return found;
}

uint64_t Scene::beats(int slot) const { return page_[slot]; }

void Scene::touch(int slot) { page_[slot] = 1; }

void Scene::alive(int slot, Here here) { reaches(slot, beats(slot) + 2, here); }

void Scene::reaches(int slot, uint64_t count, Here here) {
  wait_for(
      "heartbeat " + std::to_string(slot), [&] { return beats(slot) >= count; }, here);
}

void Scene::wait_for(const std::string& what, const std::function<bool()>& condition, Here here) {
  expect(reaper_.eventually(condition),
         "no " + what + "; alive: " + text(everybody()) + "; said: " + read_file(path("out")) +
             "; receipt: " + read_file(path("receipt")),
         here);
}

void Scene::nobody_lives(Here here) const {
  const std::vector<Row> rows = everybody();
  expect(rows.empty(), "still alive: " + text(rows), here);
}

void Scene::close() {
  if (!may_stay_) nobody_lives();
  for (const auto& entry : fs::directory_iterator("/tmp/case")) {
    expect(!entry.path().filename().string().starts_with(".quietus-"),
           "left behind: " + entry.path().string());
  }
  for (const auto& entry : fs::recursive_directory_iterator(kCgroups)) {
    expect(!entry.path().filename().string().starts_with("quietus-"),
           "left behind: " + entry.path().string());
  }
}

}  // namespace guest
