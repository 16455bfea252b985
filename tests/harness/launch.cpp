#include "harness/launch.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

namespace harness {

std::function<void()> blocking(std::vector<int> signals) {
  return [signals = std::move(signals)] {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : signals) sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, nullptr);
  };
}

std::function<void()> ignoring(std::vector<int> signals) {
  return [signals = std::move(signals)] {
    for (const int number : signals) signal(number, SIG_IGN);
  };
}

std::function<void()> limiting(int resource, unsigned long soft, unsigned long hard) {
  return [=] {
    const rlimit limit = {soft, hard};
    if (setrlimit(__rlimit_resource_t(resource), &limit) != 0) _exit(98);
  };
}

}  // namespace harness
