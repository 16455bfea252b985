// This machine: the command itself is what is started.
#include "client/transports/common.hpp"

namespace quietus::transports {
namespace {

class Local final : public Transport {
 public:
  [[nodiscard]] std::string name() const override { return "local"; }
  [[nodiscard]] Traits traits() const override {
    return {.exit_code_is_the_commands = true,
            .passes_signals = true,
            .passes_stdin_end = true,
            .outlives_client = false,
            .shares_files = true,
            .files_outlive_stop = true};
  }
  [[nodiscard]] Expected<HostCommand> exec(const InsideCommand& command) const override {
    if (!command.user.empty()) {
      return cannot_change_user("local", "start it with setpriv, or quietus with --user");
    }
    return HostCommand{command.argv, command.cwd, command.environment};
  }
  [[nodiscard]] std::optional<std::string> host_root() const override { return "/"; }
};

}  // namespace

std::unique_ptr<Transport> make_local() { return std::make_unique<Local>(); }

}  // namespace quietus::transports
