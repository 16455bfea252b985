// apptainer(1): an instance that runs, or an image that is entered anew for each command. There is
// no PID namespace unless the site asks for one; the command is a descendant of the client.
#include "client/transports/common.hpp"

namespace quietus::transports {
namespace {

// "apptainer itself failed".
constexpr int kApptainerFailed = 255;

class Apptainer final : public Transport {
 public:
  Apptainer(std::string_view place, const TransportOptions& options)
      : place_(place),
        is_image_(place.find('/') != std::string_view::npos),
        arguments_(options.create_arguments),
        program_(program(options, "apptainer")) {}

  [[nodiscard]] std::string name() const override { return "apptainer:" + place_; }

  [[nodiscard]] Traits traits() const override {
    return {.exit_code_is_the_commands = true,
            .passes_signals = true,
            .passes_stdin_end = true,
            .outlives_client = false,
            .files_outlive_stop = true};
  }

  [[nodiscard]] Expected<HostCommand> exec(const InsideCommand& command) const override {
    if (!command.user.empty()) return cannot_change_user("apptainer", "start it as that user");
    Words words = program_ + Words{"--silent", "exec"};
    if (is_image_) words = std::move(words) + arguments_;
    words = std::move(words) + Words{"--pwd", command.cwd.empty() ? "/" : command.cwd};
    for (const EnvironmentEntry& entry : command.environment) {
      words = std::move(words) + Words{"--env", assignment(entry)};
    }
    return HostCommand{std::move(words) + Words{is_image_ ? place_ : "instance://" + place_} +
                       command.argv};
  }

  [[nodiscard]] std::optional<Error> failure(const ClientEnd& end) const override {
    const std::string said = first_line(end.err);
    if (end.code != kApptainerFailed || !said.starts_with("FATAL:")) return std::nullopt;
    // The command was not found: that is the command's end.
    if (end.err.find("executable file not found") != std::string_view::npos) return std::nullopt;
    return Error{ErrorKind::sandbox, "apptainer: " + said, "see apptainer instance list"};
  }

  [[nodiscard]] std::optional<HostCommand> status() const override {
    if (is_image_) return std::nullopt;
    return HostCommand{program_ + Words{"instance", "list", place_}};
  }
  // A head line, then one line for each instance.
  [[nodiscard]] SandboxStatus read_status(const ClientEnd& end) const override {
    if (end.code != 0) return SandboxStatus::unknown;
    return end.out.find('\n' + place_ + ' ') != std::string_view::npos ? SandboxStatus::running
                                                                       : SandboxStatus::absent;
  }

  [[nodiscard]] std::optional<HostCommand> stop() const override {
    if (is_image_) return std::nullopt;
    return HostCommand{program_ + Words{"instance", "stop", place_}};
  }
  [[nodiscard]] bool is_gone(const ClientEnd& end) const override {
    return end.err.find("no instance found") != std::string_view::npos;
  }

 private:
  std::string place_;
  bool is_image_;
  Words arguments_;
  Words program_;
};

}  // namespace

std::unique_ptr<Transport> make_apptainer(std::string_view place, const TransportOptions& options) {
  return std::make_unique<Apptainer>(place, options);
}

}  // namespace quietus::transports
