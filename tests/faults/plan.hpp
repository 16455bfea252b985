// Which faults to try in a case, from what a run without faults was seen to do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "faults/cases.hpp"
#include "faults/facts.hpp"

namespace faults {

// The calls of each kind, by role.
struct Calls {
  std::uint32_t of[kRoles] = {0, 0, 0};
  [[nodiscard]] std::uint32_t all() const { return of[0] + of[1] + of[2]; }
};
using Census = std::map<std::string, Calls>;

Census census(const Facts& facts);

// What every run of the case is sure to do: the smaller count of each kind.
Census common(const Census& a, const Census& b);

enum class Breadth {
  quick,  // each kind some ways; which errnos differs from kind to kind and case to case
  full,   // each kind x each errno x first, second, last x once, lasting; each role by itself
};

std::vector<Fault> plan(const Case& made, const Census& calls, Breadth breadth);

}  // namespace faults
