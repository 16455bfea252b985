// The sandboxes that the scripts of tests/lib have made: how a test gets into them, and how it sees
// from outside what is in them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "matrix/table.hpp"
#include "quietus/transport.hpp"

namespace matrix {

// The column of this run; none is a broken set-up.
Column here();

struct Place {
  std::string name;  // for open_sandbox
  quietus::TransportOptions options = {};
  // The directory of this machine that is / inside; empty: only known once it runs.
  std::string root = {};
  // It has files of its own, which no other test touches.
  bool own_files = false;
  bool has_shell = true;
};
// Borrowed unless it must be made.
Place place_of(Row row, Column column);

// Of a container, as podman calls it.
std::string root_of_container(const std::string& name);

// What runs on this machine, which is all that there is in our PID namespace, containers included;
// each by number and start time. Our own collected and uncollected dead are left out.
std::set<std::string> all_processes();
// What sandboxes there are: containers and jobs.
std::set<std::string> all_sandboxes(Column column);
// Groups that a supervisor has made below ours.
std::set<std::string> all_groups();
std::set<std::string> names_in(const std::string& directory);

// The end of the pipe of a shell command, for what has no library.
std::string output_of(const std::string& command);

}  // namespace matrix
