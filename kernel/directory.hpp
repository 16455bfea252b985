// The directory of a path, and the entries of a directory; those of /proc and /proc/self/fd are
// numbers.
#pragma once

#include <string>

#include "contract/decimal.hpp"
#include "kernel/calls.hpp"

namespace quietus::sys {

// What is left of a path without its last name: dirname(3), but for slashes at the end.
std::string directory_of(const std::string& path);

// A visitor as a plain pair, so that the loop exists once however many visit.
struct NameVisitor {
  bool (*visit)(void* context, const char* name);
  void* context;
};

// Calls the visitor for each entry but "." and "..", until it returns false.
Result<Unit> visit_names(Gate& gate, int directory, NameVisitor visitor);

template <class Visit>
Result<Unit> for_each_name(Gate& gate, int directory, Visit visit) {
  const auto call = [](void* context, const char* name) {
    return static_cast<bool>((*static_cast<Visit*>(context))(name));
  };
  return visit_names(gate, directory, {call, &visit});
}

// The same for the entries that are numbers. The listing of /proc need not end while processes are
// born faster than it is read: visit has to bound it.
template <class Visit>
Result<Unit> for_each_number(Gate& gate, int directory, Visit visit) {
  return for_each_name(gate, directory, [&](const char* name) {
    const auto number = parse_decimal<int>(name);
    return !number || visit(*number);
  });
}

}  // namespace quietus::sys
