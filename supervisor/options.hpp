// What to supervise and how. Made by program/ from argv and the environment, const from then on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/time.hpp"

namespace quietus {

enum class Form { bare, run, launch };

enum class Descendants {
  tree,             // everything below us ends
  group,            // the worker's process group ends; what had detached itself stays
  keep_on_success,  // after exit 0 nothing is ended
};
std::string_view name(Descendants policy);

enum class Shield { off, attempt, required };

struct ResourceLimit {
  int resource = 0;
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

struct User {
  unsigned uid = 0;
  std::optional<unsigned> gid;  // none: the uid's group in /etc/passwd, else the uid's number
};

// What shapes the worker, and only the worker.
struct Worker {
  std::vector<std::string> argv;         // never empty
  std::vector<std::string> environment;  // NAME=VALUE
  std::string outer_marker;              // QUIETUS_SESSION as we found it: those around us
  std::string directory;                 // empty: ours
  std::vector<ResourceLimit> limits;
  std::optional<User> user;
  bool no_new_privileges = false;
};

// AT_FDCWD: relative paths start from the working directory.
inline constexpr int kWorkingDirectory = -100;

// What a session adds. Its files are names in one open directory, so that nothing that happens to
// the path of that directory can lead us elsewhere; the descriptor also carries the session's lock.
struct Control {
  int directory = kWorkingDirectory;
  std::string directory_path;  // for inotify alone
  std::string id;              // of the session, for the marker; empty: a random one
  std::string leaf;            // name of the cgroup leaf; empty: a random one
  std::string pid_file;
  std::string identity_file;
  std::string kill_file;
  std::string lease_file;
  std::optional<Span> lease;  // stop unless lease_file is touched this often
  bool lease_stdin = false;   // stop at the end of file of descriptor 0
  bool empty_stdin = false;   // the worker's descriptor 0 is /dev/null
  std::string reserved;       // the receipt's temporary file, made beforehand
  int reserved_fd = -1;
  int ready = -1;  // --detach: where to write the exit code of the launch
};

struct Options {
  Form form = Form::run;
  std::optional<Span> timeout;  // none: no deadline
  Span cleanup_timeout = std::chrono::seconds(10);
  int signal = 15;            // what asks the worker to end
  bool signal_group = false;  // ask its whole process group
  Descendants descendants = Descendants::tree;
  Shield shield = Shield::off;
  bool isolate = false;
  bool die_with_parent = false;
  bool sync = false;  // fsync receipt and report
  int verbosity = 0;  // -1: say nothing, 1: say how it ended
  // Empty: not asked for.
  std::string receipt;
  std::string report;
  std::string stop_file;
  std::string expire_file;
  std::string output;
  std::optional<std::uint64_t> output_limit;
  Control control;
  Worker worker;
};

}  // namespace quietus
