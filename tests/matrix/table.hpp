// The one table: what is shown of which transport, and what must come of it. The tests run it, and
// docs/controller-matrix.md prints it.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "quietus/error.hpp"

namespace matrix {

using quietus::ErrorKind;

enum class Column { local, podman, ssh, bwrap, slurm, kube, apptainer };
enum class Row {
  normal,
  crash,
  deadline,
  stop,
  expire,
  cancel,
  transport_killed,
  supervisor_killed,
  no_shell,
  only_busybox,
  borrowed,
  owned,
};

// What a cell must come to. All of them: the artifacts that are fetched are those that the command
// wrote, unless the cleanup is not confirmed; and nothing is left, unless `keeps_evidence`.
struct Want {
  bool confirmed = true;
  std::optional<int> code = 0;  // -N: signal N
  bool timed_out = false;
  bool error = false;                     // the receipt has one
  std::optional<ErrorKind> execute = {};  // none: execute() succeeds
  bool keeps_evidence = false;            // the session directory of a borrowed sandbox
  bool killed_by_slurm = false;           // all of the step, in whatever order
};

struct Cell {
  Row row;
  Column column;
  Want want = {};
  std::string reason = {};  // why there is no such cell; empty: there is
  [[nodiscard]] bool exists() const { return reason.empty(); }
};

// For GoogleTest, which would print its bytes.
void PrintTo(const Cell& cell, std::ostream* out);

std::string word(Column column);  // "podman"
std::string word(Row row);        // "transport_killed"

std::vector<Cell> all_cells();
// Of the column that QUIETUS_COLUMN names.
std::vector<Cell> cells_here();

// For the documentation, in Markdown.
std::string table_text();

}  // namespace matrix
