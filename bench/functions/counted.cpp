// Calls each pure function once, between two marks for callgrind: the dump that bears its name then
// holds the instructions of that one call. Without valgrind the marks do nothing.
#include <valgrind/callgrind.h>

#include <string>

#include "pure_functions.hpp"

int main() {
  for (const auto& function : bench::pure_functions()) {
    const std::string name(function.name);
    // The first call also pays for what is made only once.
    function.once();
    CALLGRIND_ZERO_STATS;
    function.once();
    CALLGRIND_DUMP_STATS_AT(name.c_str());
  }
  return 0;
}
