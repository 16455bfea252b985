// How to get into a sandbox, as command lines: what to start here so that something happens there.
// Transports only build and read words, so that each can be tested without its tool; what starts
// processes, streams and waits exists once, behind open_sandbox (connect.hpp).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quietus/sandbox.hpp"

namespace quietus {

// Something to start on this machine.
struct HostCommand {
  std::vector<std::string> argv = {};
  std::string cwd = {};                            // empty: where we are
  std::vector<EnvironmentEntry> environment = {};  // added to ours
  friend bool operator==(const HostCommand&, const HostCommand&) = default;
};

// Something to start inside.
struct InsideCommand {
  std::vector<std::string> argv;
  std::string cwd = {};
  std::vector<EnvironmentEntry> environment = {};
  std::string user = {};
  bool reads_stdin = false;
};

// What a client of ours said when it ended.
struct ClientEnd {
  std::optional<int> code;  // none: it was killed by a signal
  std::string_view out;
  std::string_view err;
};

class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Traits traits() const = 0;

  [[nodiscard]] virtual Expected<HostCommand> exec(const InsideCommand& command) const = 0;
  // Whether the client's end is its own failure and not the command's; none: it is the command's.
  [[nodiscard]] virtual std::optional<Error> failure(const ClientEnd& end) const;

  // The directory of this machine that is / inside; none: there is none.
  [[nodiscard]] virtual std::optional<std::string> host_root() const;
  // The transport's own copy of a file or tree; none: it has none. The destination does not exist.
  [[nodiscard]] virtual std::optional<HostCommand> copy_in(std::string_view local,
                                                           std::string_view inside) const;
  [[nodiscard]] virtual std::optional<HostCommand> copy_out(std::string_view inside,
                                                            std::string_view local) const;

  // None: there is nothing to ask, and the sandbox is taken to run.
  [[nodiscard]] virtual std::optional<HostCommand> status() const;
  [[nodiscard]] virtual SandboxStatus read_status(const ClientEnd& end) const;

  // Sandboxes that we make ourselves: how, and how to reach what was made. The supervisor's binary
  // is at `payload` on this machine.
  [[nodiscard]] virtual bool creates() const { return false; }
  [[nodiscard]] virtual Expected<HostCommand> create(std::string_view payload) const;
  [[nodiscard]] virtual Expected<std::unique_ptr<Transport>> created(const ClientEnd& end) const;

  // None: there is nothing that could be stopped (the local machine).
  [[nodiscard]] virtual std::optional<HostCommand> stop() const;
  // Whether a failed stop only says that it is gone already.
  [[nodiscard]] virtual bool is_gone(const ClientEnd& end) const;
  // None: there is nothing to let go of.
  [[nodiscard]] virtual std::optional<HostCommand> disconnect() const;
};

struct TransportOptions {
  // Words to start instead of a tool's name: {"podman", {"podman", "--runtime", "runc"}}. Keys:
  // docker podman ssh bwrap srun salloc scancel squeue kubectl apptainer.
  std::map<std::string, std::vector<std::string>, std::less<>> programs = {};
  // More options for whatever makes a sandbox (podman run, salloc) or enters one anew (bwrap).
  std::vector<std::string> create_arguments = {};
  // In the name of what we make; empty: random.
  std::string token = {};
};

// local | docker:NAME | podman:NAME | docker-image:IMAGE | podman-image:IMAGE (made and owned) |
// ssh:HOST (USER@HOST, ssh://USER@HOST:PORT) | bwrap:ROOT | slurm:JOBID | slurm-new[:ARGS] (made
// and owned) | kube:NAMESPACE/POD[/CONTAINER] | apptainer:INSTANCE | apptainer:IMAGE (a path) |
// template:FILE. The error (input) names what is wrong and the forms that there are.
Expected<std::unique_ptr<Transport>> transport_from_name(std::string_view name,
                                                         const TransportOptions& options = {});

// The forms above, one a line, for help texts.
std::string_view transport_forms();

}  // namespace quietus
