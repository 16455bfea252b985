#include "harness/running.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "harness/schema.hpp"

namespace harness {

std::string Ended::text() const {
  std::ostringstream text;
  text << "\n  exit " << status << (hung ? " (hung, killed)" : "") << " after " << seconds << " s"
       << "\n  receipt " << (has_receipt ? receipt_bytes : "none") << "\n  stderr " << err;
  if (!receipt_fault.empty()) text << "\n  fault " << receipt_fault;
  if (report) text << "\n  report " << report->dump();
  for (const ProcessRow& row : survivors) text << "\n  alive " << row.text();
  return text.str();
}

Running::Running(Launch launch, pid_t pid, Clock::time_point start, int release, std::string out,
                 std::string err)
    : launch_(std::move(launch)),
      pid_(pid),
      release_(release),
      start_(start),
      out_path_(std::move(out)),
      err_path_(std::move(err)) {}

Running::Running(Running&& other) noexcept
    : launch_(std::move(other.launch_)),
      pid_(other.pid_),
      release_(other.release_),
      start_(other.start_),
      out_path_(std::move(other.out_path_)),
      err_path_(std::move(other.err_path_)),
      collected_(other.collected_),
      status_(other.status_) {
  other.release_ = -1;
  other.collected_ = true;
}

Running::~Running() { release(); }

void Running::release() {
  if (release_ < 0) return;
  close(release_);
  release_ = -1;
  // The namespace's init ends on its own now; one that does not is killed, with all of its own.
  if (!eventually([this] { return over(); }, 5)) {
    kill(pid_, SIGKILL);
    eventually([this] { return over(); }, 5);
  }
}

bool Running::over() {
  if (collected_) return true;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  if (ended == pid_) note_end(status);
  collected_ = true;
  return true;
}

void Running::note_end(int wait_status) {
  collected_ = true;
  status_ = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -WTERMSIG(wait_status);
}

namespace {

std::vector<ProcessRow> children(pid_t parent) {
  std::vector<ProcessRow> found;
  for (const ProcessRow& row : descendants(parent)) {
    if (row.ppid == parent) found.push_back(row);
  }
  return found;
}

}  // namespace

pid_t Running::guardian() const {
  if (launch_.namespace_status.empty()) return pid_;
  // unshare, then its child, the namespace's init, then quietus.
  pid_t at = pid_;
  for (int level = 0; level < 2; ++level) {
    std::vector<ProcessRow> below;
    if (!eventually([&] { return !(below = children(at)).empty(); })) return 0;
    at = below.front().pid;
  }
  return at;
}

pid_t Running::supervisor(double seconds) const {
  const pid_t parent = guardian();
  std::vector<ProcessRow> below;
  eventually([&] { return !(below = children(parent)).empty(); }, seconds);
  return below.empty() ? 0 : below.front().pid;
}

void Running::signal(int number) const { kill(guardian(), number); }

Ended Running::wait(double seconds) {
  Ended ended;
  ended.form = launch_.form;
  const bool in_namespace = !launch_.namespace_status.empty();
  const bool done = eventually(
      [&] {
        // Not as soon as the file exists: it is empty at first.
        return over() || (in_namespace && !read_file(launch_.namespace_status).empty());
      },
      seconds);
  ended.seconds = seconds_since(start_);
  ended.survivors = living_descendants();
  if (in_namespace) {
    // The enclosure itself, unshare and its init, is not a survivor.
    const std::vector<ProcessRow> inits = children(pid_);
    std::erase_if(ended.survivors, [&](const ProcessRow& row) {
      return row.pid == pid_ || (!inits.empty() && row.pid == inits.front().pid);
    });
    std::istringstream status(read_file(launch_.namespace_status));
    std::string word;
    if (status >> word >> ended.status && word == "signal") ended.status = -ended.status;
  }
  if (!done) {
    ended.hung = true;
    kill(pid_, SIGCONT);
    kill(pid_, SIGKILL);
    eventually([this] { return over(); }, 5);
  }
  if (!in_namespace) ended.status = status_;
  ended.out = read_file(out_path_);
  ended.err = read_file(err_path_);
  read_records(launch_, ended);
  return ended;
}

void read_records(const Launch& launch, Ended& ended) {
  if (!launch.receipt.empty() && exists(launch.receipt)) {
    ended.has_receipt = true;
    ended.receipt_bytes = read_file(launch.receipt);
    ended.receipt = ReceiptFile::parse(ended.receipt_bytes, ended.receipt_fault);
  }
  if (!launch.report.empty() && exists(launch.report)) {
    ended.report = checked_report(read_file(launch.report), ended);
  }
}

}  // namespace harness
