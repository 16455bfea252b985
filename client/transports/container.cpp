// docker(1) and podman(1), whose command lines are the same for what we need.
//
// Ending the exec client leaves the inner process running, and after SIGTERM podman's client says
// 0; but the inner process then reads an end of file. So the exit code is none that counts, and
// standard input is a lifeline.
#include "client/src/random_token.hpp"
#include "client/transports/common.hpp"

namespace quietus::transports {
namespace {

// Where a container of our own has the supervisor mounted, whatever is in its image.
constexpr const char* kPayload = "/.quietus/quietus";
// "podman itself failed": the container is not there, or the runtime refuses.
constexpr int kEngineFailed = 125;

class Container : public Transport {
 public:
  Container(std::string_view tool, std::string container, std::string payload,
            const TransportOptions& options)
      : tool_(tool),
        container_(std::move(container)),
        payload_(std::move(payload)),
        program_(program(options, tool)) {}

  [[nodiscard]] std::string name() const override { return tool_ + ':' + container_; }

  [[nodiscard]] Traits traits() const override {
    return {.exit_code_is_the_commands = false,
            .passes_signals = false,
            .passes_stdin_end = true,
            .outlives_client = true,
            .payload = payload_};
  }

  [[nodiscard]] Expected<HostCommand> exec(const InsideCommand& command) const override {
    Words words = program_ + Words{"exec"};
    if (command.reads_stdin) words.emplace_back("-i");
    if (!command.cwd.empty()) words = std::move(words) + Words{"-w", command.cwd};
    for (const EnvironmentEntry& entry : command.environment) {
      words = std::move(words) + Words{"-e", assignment(entry)};
    }
    if (!command.user.empty()) words = std::move(words) + Words{"-u", command.user};
    return HostCommand{std::move(words) + Words{container_} + command.argv};
  }

  [[nodiscard]] std::optional<Error> failure(const ClientEnd& end) const override {
    if (end.code != kEngineFailed) return std::nullopt;
    // The same number is a legal exit code of a command; then the client itself is silent.
    const std::string said = first_line(end.err);
    if (!said.starts_with("Error") && !said.starts_with("error") && !said.starts_with("Cannot") &&
        !said.starts_with("OCI runtime")) {
      return std::nullopt;
    }
    return Error{ErrorKind::sandbox, tool_ + " exec in '" + container_ + "': " + said,
                 "see " + tool_ + " ps -a"};
  }

  [[nodiscard]] std::optional<HostCommand> copy_in(std::string_view local,
                                                   std::string_view inside) const override {
    return HostCommand{program_ + Words{"cp", std::string(local), place(inside)}};
  }
  [[nodiscard]] std::optional<HostCommand> copy_out(std::string_view inside,
                                                    std::string_view local) const override {
    return HostCommand{program_ + Words{"cp", place(inside), std::string(local)}};
  }

  [[nodiscard]] std::optional<HostCommand> status() const override {
    return HostCommand{program_ +
                       Words{"container", "inspect", "--format", "{{.State.Status}}", container_}};
  }
  [[nodiscard]] SandboxStatus read_status(const ClientEnd& end) const override {
    const std::string said = first_line(end.out);
    if (end.code != 0) return is_gone(end) ? SandboxStatus::absent : SandboxStatus::unknown;
    if (said == "running" || said == "paused") return SandboxStatus::running;
    if (said == "created" || said == "configured" || said == "initialized" ||
        said == "restarting" || said == "starting") {
      return SandboxStatus::starting;
    }
    if (said == "exited" || said == "stopped" || said == "removing" || said == "stopping") {
      return SandboxStatus::stopped;
    }
    return said == "dead" ? SandboxStatus::error : SandboxStatus::unknown;
  }

  // At once: an owner stops a sandbox when all that counts in it has ended.
  [[nodiscard]] std::optional<HostCommand> stop() const override {
    Words words = program_ + Words{"rm", "-f"};
    if (tool_ == "podman") words = std::move(words) + Words{"-t", "0"};
    return HostCommand{std::move(words) + Words{container_}};
  }
  [[nodiscard]] bool is_gone(const ClientEnd& end) const override {
    for (const std::string_view words : {"no such container", "No such container",
                                         "no container with name or ID", "no such object"}) {
      if (end.err.find(words) != std::string_view::npos) return true;
    }
    return false;
  }

 protected:
  [[nodiscard]] const std::string& tool() const { return tool_; }
  [[nodiscard]] const Words& words() const { return program_; }

 private:
  [[nodiscard]] std::string place(std::string_view inside) const {
    return container_ + ':' + std::string(inside);
  }

  std::string tool_;
  std::string container_;
  std::string payload_;
  Words program_;
};

class ContainerOfImage final : public Container {
 public:
  ContainerOfImage(std::string_view tool, std::string image, std::string container,
                   const TransportOptions& options)
      : Container(tool, container, kPayload, options),
        image_(std::move(image)),
        container_(std::move(container)),
        options_(options) {}

  [[nodiscard]] std::string name() const override { return tool() + "-image:" + image_; }
  [[nodiscard]] bool creates() const override { return true; }

  // Any image will do, also one without a shell: what the container stays alive by is the
  // supervisor itself, which waits for a session in / that never comes.
  [[nodiscard]] Expected<HostCommand> create(std::string_view payload) const override {
    if (payload.find(',') != std::string_view::npos) {
      return fail(ErrorKind::input,
                  "a path with a comma cannot be mounted: '" + std::string(payload) + "'",
                  "move the payload");
    }
    Words made = words() + Words{"run", "-d", "--name", container_} + options_.create_arguments;
    return HostCommand{
        std::move(made) +
        Words{"--mount", "type=bind,src=" + std::string(payload) + ",dst=" + kPayload + ",readonly",
              "--entrypoint", kPayload, image_, "wait", "--session", "/"}};
  }
  [[nodiscard]] Expected<std::unique_ptr<Transport>> created(const ClientEnd& end) const override {
    if (end.code != 0) {
      return fail(ErrorKind::sandbox, tool() + " run '" + image_ + "': " + error_line(end.err),
                  "try it by hand: " + tool() + " run --rm " + image_);
    }
    return std::make_unique<Container>(tool(), container_, kPayload, options_);
  }

 private:
  std::string image_;
  std::string container_;
  TransportOptions options_;
};

}  // namespace

std::unique_ptr<Transport> make_container(std::string_view tool, std::string name,
                                          const TransportOptions& options) {
  return std::make_unique<Container>(tool, std::move(name), std::string(), options);
}

std::unique_ptr<Transport> make_container_of_image(std::string_view tool, std::string image,
                                                   const TransportOptions& options) {
  const std::string token = options.token.empty() ? random_token() : options.token;
  return std::make_unique<ContainerOfImage>(tool, std::move(image), "quietus-" + token, options);
}

}  // namespace quietus::transports
