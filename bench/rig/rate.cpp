// Mode rate: as many runs as fit into the time, some at a time.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <set>

#include "start.hpp"
#include "survivors.hpp"

namespace bench {

void run_rate(const Options& options) {
  std::set<pid_t> running;
  long started = 0;
  long ended = 0;
  long bad = 0;
  int bad_status = 0;
  const std::int64_t began = now();
  const std::int64_t until = began + static_cast<std::int64_t>(options.seconds * 1e9);
  std::int64_t last_end = began;
  for (;;) {
    while (static_cast<long>(running.size()) < options.at_once && now() < until) {
      running.insert(start(options, Command(options, started)));
      started++;
    }
    if (running.empty()) break;
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0) die("waitpid");
    // Others are orphans that a supervisor has left to us.
    if (running.erase(pid) == 0) continue;
    ended++;
    last_end = now();
    if (status == 0) continue;
    bad++;
    bad_status = status;
  }
  std::size_t left = survivors(options.cgroup).size();
  if (left > 0) {
    usleep(100'000);
    reap_all();
    left = survivors(options.cgroup).size();
  }
  std::FILE* out = std::fopen(options.out.c_str(), "we");
  if (out == nullptr) die(options.out);
  std::fprintf(out, "{\"runs\":%ld,\"bad\":%ld,\"bad_status\":%d,\"ns\":%lld,\"left\":%zu}\n",
               ended, bad, bad_status, static_cast<long long>(last_end - began), left);
  std::fclose(out);
  end_survivors(options.cgroup, 10);
}

}  // namespace bench
