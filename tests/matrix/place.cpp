#include "matrix/place.hpp"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "harness/descendants.hpp"
#include "harness/tools.hpp"

namespace matrix {
namespace {

namespace fs = std::filesystem;
using harness::Words;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw std::runtime_error(std::string(name) + " is not set: run tests/matrix/run.sh");
  }
  return value;
}

// Where the scenes lie; it is mounted in every sandbox, under the same name.
std::string shared() { return environment("TMPDIR"); }

}  // namespace

Column here() {
  const std::string name = environment("QUIETUS_COLUMN");
  for (const Cell& cell : all_cells()) {
    if (word(cell.column) == name) return cell.column;
  }
  throw std::runtime_error("there is no column '" + name + "'");
}

Place place_of(Row row, Column column) {
  const bool bare = row == Row::no_shell;
  const std::string image = bare ? "bare" : "busybox";
  Place place;
  place.has_shell = !bare;
  switch (column) {
    case Column::local: place.name = "local"; break;
    case Column::podman:
      place.name = row == Row::owned ? "podman-image:q:" + image : "podman:" + image;
      place.options.create_arguments = Words{"--cgroup-parent=/" + environment("CGROUPS"),
                                             "--volume=" + shared() + ':' + shared()};
      place.own_files = true;
      if (row != Row::owned) place.root = root_of_container(image);
      return place;
    case Column::kube:
    case Column::apptainer:
      place.name = (column == Column::kube ? "kube:default/" : "apptainer:") + image;
      place.own_files = true;
      place.root = root_of_container(image);
      return place;
    case Column::ssh:
      place.options.programs["ssh"] = {"ssh", "-F", environment("SSH_CONFIG")};
      place.name = "ssh:node";
      if (row == Row::only_busybox) {
        place.name = "ssh:busybox";
        place.root = environment("SSH_ROOT");
        place.own_files = true;
        return place;
      }
      break;
    case Column::bwrap:
      place.root = environment("BWRAP_ROOTS") + '/' + image;
      place.name = "bwrap:" + place.root;
      place.options.create_arguments = Words{"--bind", shared(), shared()};
      place.own_files = true;
      return place;
    case Column::slurm:
      place.name = row == Row::owned ? "slurm-new" : "slurm:" + environment("JOB");
      break;
  }
  place.root = "/";
  return place;
}

std::string root_of_container(const std::string& name) {
  const std::string pid = output_of("podman inspect --format '{{.State.Pid}}' " + name);
  if (pid.empty() || pid == "0") throw std::runtime_error("no container '" + name + "' runs");
  return "/proc/" + pid + "/root";
}

std::set<std::string> all_processes() {
  std::set<std::string> found;
  for (const std::string& name : names_in("/proc")) {
    const pid_t pid = static_cast<pid_t>(std::atol(name.c_str()));
    if (pid <= 0 || pid == getpid()) continue;
    const harness::ProcessRow row = harness::process_row(pid);
    if (row.pid == 0 || (row.ppid == getpid() && !row.living())) continue;
    // Not by what it is called: a container that has just been started still becomes its command.
    found.insert(name + '@' + std::to_string(row.start));
  }
  return found;
}

std::set<std::string> all_sandboxes(Column column) {
  std::string text;
  if (column == Column::slurm) text = output_of("squeue --noheader --format=%A");
  if (column == Column::podman || column == Column::kube || column == Column::apptainer) {
    text = output_of("podman ps --all --quiet");
  }
  const auto words = harness::split(text, '\n');
  return {words.begin(), words.end()};
}

std::set<std::string> all_groups() {
  std::set<std::string> found;
  std::error_code error;
  const std::string top = environment("OWN_CGROUP");
  if (top.empty()) return found;
  for (auto entry = fs::recursive_directory_iterator(top, error); !error && entry != fs::end(entry);
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory(error) && name.starts_with("quietus-")) found.insert(name);
  }
  return found;
}

std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  DIR* open = opendir(directory.c_str());
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.insert(name);
  }
  closedir(open);
  return names;
}

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("cannot start: " + command);
  std::string text;
  char buffer[4096];
  for (std::size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    text.append(buffer, got);
  }
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace matrix
