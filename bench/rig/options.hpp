// What bench.py asks of the runner.
#pragma once

#include <string>
#include <vector>

namespace bench {

// "@I@" in the command and in page, receipt and stop is replaced by the number of the run.
struct Options {
  std::string mode = "once";
  std::string out;      // one JSON object a line goes here
  std::string page;     // the page that the worker writes; none: the command is not our worker
  std::string receipt;  // where the supervisor writes one
  std::string stop;     // its stop file
  std::string errors = "/dev/null";  // what the supervisors say on standard error
  std::string cgroup;                // where survivors are looked for
  // term: send TERM to the supervisor; stop: make the stop file; prestop: make it before the start.
  std::string act = "none";
  double act_from = 0.01;  // seconds from the worker's start: a random moment in between
  double act_to = 0.03;
  long runs = 1;
  long at_once = 1;
  double seconds = 1;  // rate: how long runs are started
  double limit = 60;   // seconds after which a run counts as hung
  std::vector<char*> command;
};

void run_once(const Options& options);  // one after the other, until one is deaf to its act
void run_rate(const Options& options);  // as many runs as fit, at_once at a time
// At the same time; prints "READY N", waits for the end of standard input, then ends them.
void run_hold(const Options& options);

}  // namespace bench
