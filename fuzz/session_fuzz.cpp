// A session directory and a /proc in which anything may stand: status tells it as JSON and changes
// nothing; only a process that the pid file names, and that is about this directory, is ever
// signalled, with TERM. The input: two bytes of switches, the time of the files, then texts that
// are parted by 0x1f: claim, supervisor.pid, supervisor.id, cleanup.json, and for some processes
// stat, status and command line.
//
// Module: session/status.cpp session/upstream.cpp
#include <algorithm>
#include <csignal>
#include <set>
#include <string>

#include "contract/session_files.hpp"
#include "json_reader.hpp"
#include "kernel/process_table.hpp"
#include "paper_kernel.hpp"
#include "property.hpp"
#include "session/upstream.hpp"
#include "session/verbs.hpp"

using fuzz::PaperKernel;
using fuzz::require;
using quietus::kSessionFiles;

namespace {

constexpr const char* kPath = "/session";
constexpr int kPids[] = {1, 2, 77};

PaperKernel kernel_from(std::string_view bytes) {
  fuzz::Input input(bytes);
  const unsigned present = input.byte();
  const unsigned state = input.byte();
  PaperKernel kernel;
  kernel.modified = input.number();
  kernel.links[kSessionFiles.claim] = input.word('\x1f');
  kernel.files[kSessionFiles.pid] = input.word('\x1f');
  kernel.files[kSessionFiles.identity] = input.word('\x1f');
  kernel.files[kSessionFiles.receipt] = input.word('\x1f');
  kernel.files[kSessionFiles.stop] = "";
  const std::string_view names[] = {kSessionFiles.pid, kSessionFiles.identity,
                                    kSessionFiles.receipt, kSessionFiles.stop};
  for (unsigned at = 0; at < 4; ++at) {
    if ((present >> at & 1) != 0) kernel.files.erase(kernel.files.find(names[at]));
  }
  if ((present & 16) != 0) kernel.links.clear();
  kernel.locked = (state & 1) != 0;
  kernel.has_pidfds = (state & 2) == 0;
  kernel.ready = (state & 4) == 0;
  for (const int pid : kPids) {
    if (input.empty()) break;
    kernel.processes.push_back(pid);
    const std::string row = "/proc/" + std::to_string(pid);
    kernel.files[row + "/stat"] = input.word('\x1f');
    kernel.files[row + "/status"] = input.word('\x1f');
    kernel.files[row + "/cmdline"] = input.word('\x1f');
  }
  return kernel;
}

void check_status(PaperKernel kernel) {
  quietus::SessionRequest request;
  request.directory = kPath;
  request.json = true;
  require(quietus::show_session(kernel, request) == 0, "there is a status");
  require(kernel.changes.empty(), "a look changes nothing");
  for (const fuzz::Sent& sent : kernel.sent) {
    require(sent.pid == PaperKernel::kChild, "and signals nobody else's process");
  }
  const nlohmann::json status = fuzz::read_json(kernel.written);
  require(status.is_object(), "a status is JSON");
  const std::set<std::string> states{"new", "fenced", "running", "stopping", "done", "lost"};
  require(states.contains(status.at("state").get<std::string>()), "in one of six states");
  const auto& confirmed = status.at("cleanup_confirmed");
  require(confirmed.is_null() || kernel.files.contains(kSessionFiles.receipt), "from a receipt");
  request.json = false;
  require(quietus::show_session(kernel, request) == 0, "and for people too");
}

// Start times are the kernel's own: none is beyond the clock.
bool has_sane_starts(const PaperKernel& kernel) {
  constexpr auto kMost = static_cast<std::uint64_t>(quietus::kForever.count() / 10000000);
  return std::ranges::all_of(kernel.files, [](const auto& file) {
    const auto row = quietus::sys::parse_stat(file.second);
    return !row || row->start_ticks < kMost;
  });
}

void check_upstream(PaperKernel kernel) {
  const auto directory = quietus::SessionDirectory::open(kernel, kPath, kSessionFiles);
  const auto deadline =
      quietus::Deadline::after(quietus::sys::now(kernel), std::chrono::seconds(3));
  const auto stopped = quietus::stop_upstream(kernel, *directory, deadline);
  const auto receipt = kernel.files.find(kSessionFiles.receipt);
  require(stopped.receipt.has_value() == (receipt != kernel.files.end()),
          "a receipt is given back");
  require(!stopped.receipt || *stopped.receipt == receipt->second, "as it stands there");
  for (const fuzz::Sent& sent : kernel.sent) {
    require(sent.signal == SIGTERM && sent.pid > 1, "what is signalled, is asked to end");
    std::string_view named = kernel.files[kSessionFiles.pid];
    named.remove_prefix(std::min(named.find_first_not_of('0'), named.size()));
    named = named.substr(0, named.find_first_of(" \n"));
    require(named == std::to_string(sent.pid), "it is the process of the pid file");
    const std::string row = "/proc/" + std::to_string(sent.pid);
    require(kernel.files[row + "/cmdline"].find(kPath) != std::string::npos, "for this directory");
    require(quietus::sys::parse_stat(kernel.files[row + "/stat"]).has_value(), "and known");
  }
}

void check_named(PaperKernel kernel) {
  const auto directory = quietus::SessionDirectory::open(kernel, kPath, kSessionFiles);
  const auto deadline =
      quietus::Deadline::after(quietus::sys::now(kernel), std::chrono::seconds(3));
  (void)quietus::wait_for_named(kernel, *directory, deadline);
  require(kernel.sent.empty() && kernel.changes.empty(), "waiting signals nobody");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const PaperKernel kernel = kernel_from(fuzz::text_of(data, size));
  check_status(kernel);
  if (has_sane_starts(kernel)) check_upstream(kernel);
  check_named(kernel);
  return 0;
}
