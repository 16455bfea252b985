// kubectl(1). Its connection is cut by proxies after an hour, it may then say 0, and the inner
// process goes on; an end of file of a client that was killed arrives when the node notices, which
// may be late. So it is no lifeline.
#include "client/transports/common.hpp"

namespace quietus::transports {
namespace {

class Kube final : public Transport {
 public:
  Kube(std::string space, std::string pod, std::string container, const TransportOptions& options)
      : space_(std::move(space)),
        pod_(std::move(pod)),
        container_(std::move(container)),
        program_(program(options, "kubectl")) {}

  [[nodiscard]] std::string name() const override {
    return "kube:" + space_ + '/' + pod_ + (container_.empty() ? "" : '/' + container_);
  }

  [[nodiscard]] Traits traits() const override {
    return {.exit_code_is_the_commands = false,
            .passes_signals = false,
            .passes_stdin_end = false,
            .outlives_client = true};
  }

  [[nodiscard]] Expected<HostCommand> exec(const InsideCommand& command) const override {
    if (!command.user.empty()) return cannot_change_user("kube", "set it in the pod's spec");
    Words words = program_ + Words{"exec"};
    if (command.reads_stdin) words.emplace_back("-i");
    words = std::move(words) + Words{"-n", space_, pod_};
    if (!container_.empty()) words = std::move(words) + Words{"-c", container_};
    return HostCommand{std::move(words) + Words{"--"} + with_environment(command)};
  }

  [[nodiscard]] std::optional<Error> failure(const ClientEnd& end) const override {
    if (end.code == 0) return std::nullopt;
    const std::string_view err = end.err;
    // "command terminated with exit code N" is the command's end.
    for (const std::string_view lost :
         {"error: lost connection", "error dialing backend", "Unable to connect to the server",
          "error: unable to upgrade connection", "i/o timeout"}) {
      if (err.find(lost) != std::string_view::npos) {
        return Error{ErrorKind::transport, "kubectl exec in '" + pod_ + "': " + first_line(err),
                     "see kubectl -n " + space_ + " get pod " + pod_};
      }
    }
    if (err.find("Error from server") != std::string_view::npos ||
        err.find("error: cannot exec into a container in a completed pod") !=
            std::string_view::npos) {
      return Error{ErrorKind::sandbox, "kubectl exec in '" + pod_ + "': " + first_line(err),
                   "see kubectl -n " + space_ + " get pod " + pod_};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<HostCommand> status() const override {
    return HostCommand{program_ +
                       Words{"get", "pod", "-n", space_, pod_, "-o", "jsonpath={.status.phase}"}};
  }
  [[nodiscard]] SandboxStatus read_status(const ClientEnd& end) const override {
    const std::string said = first_line(end.out);
    if (end.code != 0) return is_gone(end) ? SandboxStatus::absent : SandboxStatus::unknown;
    if (said == "Running") return SandboxStatus::running;
    if (said == "Pending") return SandboxStatus::starting;
    if (said == "Succeeded") return SandboxStatus::stopped;
    return said == "Failed" ? SandboxStatus::error : SandboxStatus::unknown;
  }

  [[nodiscard]] std::optional<HostCommand> stop() const override {
    return HostCommand{
        program_ + Words{"delete", "pod", "-n", space_, pod_, "--grace-period=1", "--wait=true"}};
  }
  [[nodiscard]] bool is_gone(const ClientEnd& end) const override {
    return end.err.find("(NotFound)") != std::string_view::npos;
  }

 private:
  std::string space_;
  std::string pod_;
  std::string container_;
  Words program_;
};

}  // namespace

Expected<std::unique_ptr<Transport>> make_kube(std::string_view place,
                                               const TransportOptions& options) {
  Words parts;
  std::string_view rest = place;
  for (;;) {
    const std::size_t slash = rest.find('/');
    parts.emplace_back(rest.substr(0, slash));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  bool wrong = parts.size() < 2 || parts.size() > 3;
  for (const std::string& part : parts) wrong = wrong || part.empty() || part.starts_with('-');
  if (wrong) {
    return fail(ErrorKind::input, "sandbox 'kube:" + std::string(place) + "': this is no pod",
                "write kube:NAMESPACE/POD or kube:NAMESPACE/POD/CONTAINER");
  }
  parts.resize(3);
  return std::make_unique<Kube>(parts[0], parts[1], parts[2], options);
}

}  // namespace quietus::transports
