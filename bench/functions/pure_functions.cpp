#include "pure_functions.hpp"

#include <string>

#include "contract/receipt.hpp"
#include "contract/receipt_parse.hpp"
#include "contract/report.hpp"
#include "kernel/process_table.hpp"
#include "kernel/procfs.hpp"
#include "program/command_line.hpp"

namespace bench {
namespace {

using namespace quietus;

// The compiler must believe that somebody reads the result.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

constexpr std::string_view kStat =
    "4711 (tokio-runtime-w) S 4700 4700 4700 0 -1 4194560 2113 88 0 0 61 27 0 0 20 0 9 0 987654321 "
    "1178599424 8192 18446744073709551615 1 1 0 0 0 0 0 4096 17642 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 "
    "0 "
    "0 0\n";

constexpr std::string_view kStatus =
    "Name:\ttokio-runtime-w\nUmask:\t0022\nState:\tS "
    "(sleeping)\nTgid:\t4711\nNgid:\t0\nPid:\t4711\n"
    "PPid:\t4700\nTracerPid:\t0\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n"
    "FDSize:\t64\nGroups:\t4 24 27 1000 \nNStgid:\t4711\nNSpid:\t4711\nVmPeak:\t 1150976 kB\n"
    "VmSize:\t 1150976 kB\nVmLck:\t       0 kB\nVmHWM:\t   32768 kB\nVmRSS:\t   32768 kB\n";

std::string children_list(int number) {
  std::string text;
  for (int pid = 10'000; pid < 10'000 + number; pid++) text += std::to_string(pid) + " ";
  return text;
}

// Three children to each process: a machine with a tree that is neither flat nor a chain.
std::vector<sys::StatRow> process_rows(int number) {
  std::vector<sys::StatRow> rows;
  for (int pid = 2; pid < number + 2; pid++) {
    rows.push_back({.pid = pid, .comm = "sleep", .state = 'S', .ppid = (pid + 1) / 3});
  }
  return rows;
}

Outcome ended_outcome() {
  Outcome outcome;
  outcome.ending = Ending::exited(0);
  outcome.because(Cause::exited);
  outcome.proof = Proof::no_children_left;
  outcome.means = Means::sweep;
  outcome.policy = "tree";
  return outcome;
}

// A deadline, and a hundred processes that could not be ended.
Outcome troubled_outcome() {
  Outcome outcome = ended_outcome();
  outcome.ending = Ending::signaled(15);
  outcome.cause = Cause::deadline;
  outcome.proof.reset();
  outcome.trouble("100 processes are left: pid 4711 (\"caf\xc3\xa9\") does not die");
  outcome.fell_back("clone3", 38, "clone");
  for (int pid = 4711; pid < 4811; pid++) {
    outcome.survivors.push_back({.pid = pid,
                                 .ppid = 4700,
                                 .comm = "tokio-runtime-w",
                                 .command_line = "/usr/bin/server --listen 127.0.0.1:8080 --quiet",
                                 .why = "uninterruptible"});
  }
  return outcome;
}

}  // namespace

std::vector<PureFunction> pure_functions() {
  const Receipt plain = receipt_of(ended_outcome());
  const Receipt troubled = receipt_of(troubled_outcome());
  static constexpr std::string_view kArguments[] = {
      "--timeout", "600", "--cleanup-timeout", "10",        "--receipt", "/tmp/s/cleanup.json",
      "--report",  "r",   "--stop-file",       "/tmp/stop", "--",        "make",
      "check"};
  return {
      {"parse_stat", [] { keep(sys::parse_stat(kStat)); }},
      {"parse_children, 1000 of them",
       [text = children_list(1000)] { keep(sys::parse_children(text)); }},
      {"parse_effective_uid", [] { keep(sys::parse_effective_uid(kStatus)); }},
      {"parse_status_size, the last line", [] { keep(sys::parse_status_size(kStatus, "VmRSS")); }},
      {"parse_cgroup_path",
       [] {
         keep(sys::parse_cgroup_path("9:pids:/x\n1:name=systemd:/\n0::/user.slice/a.scope\n"));
       }},
      {"descendants_of, 1000 processes",
       [rows = process_rows(1000)] { keep(sys::descendants_of(1, rows)); }},
      {"receipt_json, a plain one", [plain] { keep(receipt_json(plain)); }},
      {"receipt_json, with an error", [troubled] { keep(receipt_json(troubled)); }},
      {"parse_receipt, a plain one", [text = receipt_json(plain)] { keep(parse_receipt(text)); }},
      {"parse_receipt, with an error",
       [text = receipt_json(troubled)] { keep(parse_receipt(text)); }},
      {"report_json, a plain one", [outcome = ended_outcome()] { keep(report_json(outcome)); }},
      {"report_json, 100 survivors",
       [outcome = troubled_outcome()] { keep(report_json(outcome)); }},
      {"parse_command_line, a usual one", [] { keep(parse_command_line(kArguments, {})); }},
  };
}

}  // namespace bench
