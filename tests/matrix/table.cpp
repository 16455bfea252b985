#include "matrix/table.hpp"

#include <algorithm>
#include <cstdlib>
#include <ostream>

namespace matrix {
namespace {

constexpr Column kColumns[] = {Column::local, Column::podman, Column::ssh, Column::bwrap,
                               Column::slurm};
constexpr Column kStandIns[] = {Column::kube, Column::apptainer};
constexpr Row kRows[] = {
    Row::normal,   Row::crash,        Row::deadline,         Row::stop,
    Row::expire,   Row::cancel,       Row::transport_killed, Row::supervisor_killed,
    Row::no_shell, Row::only_busybox, Row::borrowed,         Row::owned};

constexpr int kTerm = -15;
constexpr int kSegv = -11;

bool is_stand_in(Column column) {
  return std::ranges::find(kStandIns, column) != std::end(kStandIns);
}

std::string missing(Row row, Column column) {
  const bool image = row == Row::no_shell || row == Row::only_busybox;
  if (image && column == Column::local) return "this machine is no image";
  if (image && column == Column::slurm) return "a job runs on its node, not in an image";
  if (row == Row::no_shell && column == Column::ssh) return "sshd starts commands by a shell";
  if (row == Row::no_shell && column == Column::kube) return "kubectl's copy needs tar inside";
  if (row == Row::no_shell && column == Column::apptainer) return "apptainer has no copy";
  if (row == Row::owned && is_stand_in(column)) return "it is never made by us";
  return {};
}

Want wanted(Row row, Column column) {
  switch (row) {
    case Row::crash: return {.code = kSegv};
    case Row::deadline:
    case Row::expire: return {.code = kTerm, .timed_out = true};
    case Row::stop: return {.code = kTerm};
    case Row::cancel: return {.code = kTerm, .execute = ErrorKind::cancelled};
    case Row::transport_killed:
      // The client is the guardian: the other half ends the command and says so.
      if (column == Column::local) return {.code = kTerm, .error = true};
      // The client is the parent of the PID namespace, which dies at once, both halves included:
      // nobody is left who could write a receipt.
      if (column == Column::bwrap) {
        return {.confirmed = false, .execute = ErrorKind::transport, .keeps_evidence = true};
      }
      // srun's shepherd has the step killed at once, both halves included. What they left proves in
      // their cgroup that nobody lives.
      if (column == Column::slurm) {
        return {
            .code = {}, .error = true, .execute = ErrorKind::transport, .killed_by_slurm = true};
      }
      return {.code = kTerm, .execute = ErrorKind::transport};
    // The guardian ends the command by the same ladder.
    case Row::supervisor_killed: return {.code = kTerm, .error = true};
    case Row::normal:
    case Row::no_shell:
    case Row::only_busybox:
    case Row::borrowed:
    case Row::owned: return {};
  }
  return {};
}

std::string text(const Cell& cell) {
  if (!cell.exists()) return "none: " + cell.reason;
  const Want& want = cell.want;
  if (!want.confirmed) return "not confirmed; files kept";
  std::string text = "code unknown";
  if (want.code) {
    text = *want.code < 0 ? "signal " + std::to_string(-*want.code)
                          : "exit " + std::to_string(*want.code);
  }
  if (want.timed_out) text += ", timed out";
  if (want.error) text += ", error";
  return text;
}

std::string title(Row row) {
  std::string words = word(row);
  std::ranges::replace(words, '_', ' ');
  if (row == Row::no_shell) return "image without shell";
  if (row == Row::only_busybox) return "image with only busybox";
  return words;
}

Cell cell(Row row, Column column) {
  return {row, column, wanted(row, column), missing(row, column)};
}

template <std::size_t N>
std::string one_table(const Column (&columns)[N]) {
  std::string head = "| |";
  std::string rule = "| --- |";
  for (const Column column : columns) {
    head += ' ' + word(column) + " |";
    rule += " --- |";
  }
  std::string lines = head + '\n' + rule + '\n';
  for (const Row row : kRows) {
    lines += "| " + title(row) + " |";
    for (const Column column : columns) lines += ' ' + text(cell(row, column)) + " |";
    lines += '\n';
  }
  return lines;
}

}  // namespace

void PrintTo(const Cell& cell, std::ostream* out) {
  *out << word(cell.column) << ' ' << word(cell.row);
}

std::string word(Column column) {
  switch (column) {
    case Column::local: return "local";
    case Column::podman: return "podman";
    case Column::ssh: return "ssh";
    case Column::bwrap: return "bwrap";
    case Column::slurm: return "slurm";
    case Column::kube: return "kube";
    case Column::apptainer: return "apptainer";
  }
  return {};
}

std::string word(Row row) {
  switch (row) {
    case Row::normal: return "normal";
    case Row::crash: return "crash";
    case Row::deadline: return "deadline";
    case Row::stop: return "stop";
    case Row::expire: return "expire";
    case Row::cancel: return "cancel";
    case Row::transport_killed: return "transport_killed";
    case Row::supervisor_killed: return "supervisor_killed";
    case Row::no_shell: return "no_shell";
    case Row::only_busybox: return "only_busybox";
    case Row::borrowed: return "borrowed";
    case Row::owned: return "owned";
  }
  return {};
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const Row row : kRows) {
    for (const Column column : kColumns) cells.push_back(cell(row, column));
    for (const Column column : kStandIns) cells.push_back(cell(row, column));
  }
  return cells;
}

// Without cgroups of our own nothing proves that a step which Slurm has killed is gone.
std::vector<Cell> cells_here() {
  const char* here = std::getenv("QUIETUS_COLUMN");
  std::vector<Cell> cells = all_cells();
  std::erase_if(cells, [&](const Cell& cell) {
    return !cell.exists() || here == nullptr || word(cell.column) != here;
  });
  const char* groups = std::getenv("OWN_CGROUP");
  for (Cell& cell : cells) {
    const bool lost = cell.row == Row::transport_killed && cell.column == Column::slurm;
    if (lost && (groups == nullptr || *groups == '\0')) {
      cell.want = wanted(Row::transport_killed, Column::bwrap);
      cell.want.killed_by_slurm = true;
    }
  }
  return cells;
}

std::string table_text() { return one_table(kColumns) + '\n' + one_table(kStandIns); }

}  // namespace matrix
