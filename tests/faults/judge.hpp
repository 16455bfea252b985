// The invariants: what must be true of every run, whatever went wrong in it.
#pragma once

#include <string>
#include <vector>

#include "faults/cases.hpp"
#include "faults/facts.hpp"

namespace faults {

// What is wrong with a run; empty: nothing.
std::vector<std::string> violations(const Case& made, const Fault& fault, const Facts& facts);

// What is wrong with a run in which nothing was made to fail; more is expected of it.
std::vector<std::string> deviations(const Case& made, const Facts& facts);

// The run in one line.
std::string summary(const Facts& facts);

}  // namespace faults
