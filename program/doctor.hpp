// quietus doctor: what can be promised in this place, for people, and shown: four processes that do
// not want to end are started, ended by the supervisor, and seen to be gone.
#pragma once

#include <string>
#include <string_view>

#include "program/demonstration.hpp"
#include "program/probe.hpp"

namespace quietus {

// The verb: prints to descriptor 1; 0 if everything ended and the receipt says so, else 1.
int doctor(sys::Gate& gate);

// What the engine said of the proof: its words, as in a report; empty where it proved nothing.
struct Conclusive {
  std::string_view proof;
  std::string_view means;
};
Conclusive read_conclusion(std::string_view message);

// Pure.
bool passed(const Method& method, const Demonstration& seen);
void write_findings(Page& page, const Place& place, const Method& method,
                    const Demonstration& seen);

}  // namespace quietus
