// Mode hold: many supervisors at the same time, to be looked at while their workers wait.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "start.hpp"
#include "survivors.hpp"

namespace bench {
namespace {

bool is_running(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

bool has_ended(pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; }

}  // namespace

void run_hold(const Options& options) {
  std::vector<pid_t> pids;
  std::vector<Slots*> pages;
  for (long number = 0; number < options.runs; number++) {
    pages.push_back(map_page(numbered(options.page, number)));
    pids.push_back(start(options, Command(options, number)));
  }
  const std::int64_t until = now() + static_cast<std::int64_t>(options.limit * 1e9);
  const auto is_up = [](const Slots* page) { return page->start != 0; };
  while (!std::all_of(pages.begin(), pages.end(), is_up) && now() < until) usleep(2000);
  const auto up = std::count_if(pages.begin(), pages.end(), is_up);
  std::printf("READY %ld\n", static_cast<long>(up));
  std::fflush(stdout);

  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  const auto alive = std::count_if(pids.begin(), pids.end(), is_running);
  for (const pid_t pid : pids) kill(pid, SIGTERM);
  const std::int64_t patience = now() + 2'000'000'000 + options.runs * 10'000'000;
  while (std::erase_if(pids, has_ended), !pids.empty() && now() < patience) usleep(2000);
  const std::size_t stubborn = pids.size();
  for (const pid_t pid : pids) kill(pid, SIGKILL);

  std::FILE* out = std::fopen(options.out.c_str(), "we");
  if (out == nullptr) die(options.out);
  std::fprintf(out, "{\"up\":%ld,\"alive\":%ld,\"stubborn\":%zu}\n", static_cast<long>(up),
               static_cast<long>(alive), stubborn);
  std::fclose(out);
  end_survivors(options.cgroup, 20);
}

}  // namespace bench
