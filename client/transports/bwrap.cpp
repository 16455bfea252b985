// bwrap(1): a root file system on this machine, entered anew for each command. The PID namespace
// dies with the client, and everything in it, so that nothing outlives it.
#include "client/transports/common.hpp"

namespace quietus::transports {
namespace {

class Bwrap final : public Transport {
 public:
  Bwrap(std::string root, const TransportOptions& options)
      : root_(std::move(root)),
        arguments_(options.create_arguments),
        program_(program(options, "bwrap")) {}

  [[nodiscard]] std::string name() const override { return "bwrap:" + root_; }

  [[nodiscard]] Traits traits() const override {
    return {.exit_code_is_the_commands = true,
            .passes_signals = false,
            .passes_stdin_end = true,
            .outlives_client = false,
            .files_outlive_stop = true};
  }

  [[nodiscard]] Expected<HostCommand> exec(const InsideCommand& command) const override {
    if (!command.user.empty()) {
      return cannot_change_user("bwrap", "give bwrap --uid and --gid with --sandbox-arg");
    }
    Words words = program_ + Words{"--bind", root_,           "/",
                                   "--dev",  "/dev",          "--proc",
                                   "/proc",  "--unshare-pid", "--die-with-parent"};
    words = std::move(words) + arguments_;
    if (!command.cwd.empty()) words = std::move(words) + Words{"--chdir", command.cwd};
    for (const EnvironmentEntry& entry : command.environment) {
      words = std::move(words) + Words{"--setenv", entry.first, entry.second};
    }
    return HostCommand{std::move(words) + Words{"--"} + command.argv};
  }

  [[nodiscard]] std::optional<Error> failure(const ClientEnd& end) const override {
    const std::string said = first_line(end.err);
    if (end.code != 1 || !said.starts_with("bwrap: ")) return std::nullopt;
    // The command was not found: that is the command's end, not ours.
    if (said.starts_with("bwrap: execvp ")) return std::nullopt;
    return Error{ErrorKind::sandbox, said, "see what is in '" + root_ + "'"};
  }

  [[nodiscard]] std::optional<std::string> host_root() const override { return root_; }

 private:
  std::string root_;
  Words arguments_;
  Words program_;
};

}  // namespace

std::unique_ptr<Transport> make_bwrap(std::string root, const TransportOptions& options) {
  return std::make_unique<Bwrap>(std::move(root), options);
}

}  // namespace quietus::transports
