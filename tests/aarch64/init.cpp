// The first process of the virtual machine: mounts what there is, runs the cases on the real
// kernel, prints a line for each and the count, and switches the machine off. Its first argument,
// from the kernel's command line behind "--", chooses the cases whose name holds it.
#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>

#include "scene.hpp"

namespace {

using namespace guest;

// The message of what went wrong; "" where all is well.
std::string fault(const Case& one, Reaper& reaper) {
  std::string what;
  try {
    Scene scene(reaper);
    one.run(scene);
    scene.close();
  } catch (const std::exception& error) {
    what = error.what();
  }
  if (!reaper.clear() && what.empty()) what = "somebody survives every SIGKILL";
  return what;
}

int run_all(const char* word) {
  utsname machine = {};
  uname(&machine);
  printf("Linux %s, %s\n", machine.release, machine.machine);
  Reaper reaper;
  int passed = 0;
  int failed = 0;
  for (const auto* cases :
       {&kReceiptsCases, &kEndsCases, &kHalvesCases, &kMeansCases, &kSurroundingsCases}) {
    for (const Case& one : *cases) {
      if (strstr(one.name, word) == nullptr) continue;
      const auto start = Clock::now();
      const std::string what = fault(one, reaper);
      printf("%-7s %s (%.2f s)\n", what.empty() ? "ok" : "FAILED", one.name, seconds_since(start));
      if (!what.empty()) printf("        %s\n", what.c_str());
      (what.empty() ? passed : failed) += 1;
    }
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    mount_everything();
    run_all(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    printf("init: %s\n", error.what());
  }
  power_off();
}
