// Starts supervisors, takes the times, and looks for what they left behind; bench.py drives it.
//
//   runner --mode once|rate|hold --out FILE [--NAME VALUE]... -- COMMAND...
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "start.hpp"

namespace {

using bench::die;

// A cgroup is entered before anything is started, so that nothing is ever outside.
void join_cgroup(const char* procs_file) {
  const int file = open(procs_file, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, "0", 1) != 1) die(procs_file);
  close(file);
}

void take(bench::Options& options, std::string_view name, const char* value) {
  if (name == "--mode")
    options.mode = value;
  else if (name == "--out")
    options.out = value;
  else if (name == "--page")
    options.page = value;
  else if (name == "--receipt")
    options.receipt = value;
  else if (name == "--stop")
    options.stop = value;
  else if (name == "--errors")
    options.errors = value;
  else if (name == "--cgroup")
    options.cgroup = value;
  else if (name == "--join")
    join_cgroup(value);
  else if (name == "--act")
    options.act = value;
  else if (name == "--runs")
    options.runs = std::atol(value);
  else if (name == "--at-once")
    options.at_once = std::atol(value);
  else if (name == "--seconds")
    options.seconds = std::atof(value);
  else if (name == "--limit")
    options.limit = std::atof(value);
  else if (name == "--seed")
    srand48(std::atol(value));
  else {
    errno = EINVAL;
    die(std::string(name));
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options;
  int at = 1;
  for (; at + 1 < argc && std::string_view(argv[at]) != "--"; at += 2) {
    take(options, argv[at], argv[at + 1]);
  }
  options.command.assign(argv + (at < argc ? at + 1 : argc), argv + argc);
  if (options.command.empty() || options.out.empty()) {
    errno = EINVAL;
    die("usage: runner --out FILE [--NAME VALUE]... -- COMMAND...");
  }
  // Whatever outlives a supervisor comes to us.
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) die("subreaper");
  std::signal(SIGPIPE, SIG_IGN);
  if (options.mode == "once")
    bench::run_once(options);
  else if (options.mode == "rate")
    bench::run_rate(options);
  else if (options.mode == "hold")
    bench::run_hold(options);
  else
    die("no such mode");
  return 0;
}
