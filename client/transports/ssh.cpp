// ssh(1), as the user has configured it, over one control connection for each host.
//
// The remote side is a shell that reads one line, so every word is quoted. Without a terminal the
// remote command goes on when the client dies, and reads an end of file.
#include <array>

#include "client/src/random_token.hpp"
#include "client/transports/common.hpp"
#include "contract/decimal.hpp"
#include "quietus/shell.hpp"

namespace quietus::transports {
namespace {

// "an error occurred": ssh itself failed.
constexpr int kClientFailed = 255;

class Ssh final : public Transport {
 public:
  Ssh(std::string host, std::string port, const TransportOptions& options)
      : host_(std::move(host)), port_(std::move(port)), program_(program(options, "ssh")) {
    // A path for a socket is at most 107 bytes long, and belongs to this connection alone: two
    // controllers must not end each other's.
    const std::string token = options.token.empty() ? random_token() : options.token;
    control_ = "/tmp/quietus-ssh-" + token.substr(0, 16);
  }

  [[nodiscard]] std::string name() const override {
    return "ssh:" + host_ + (port_.empty() ? "" : ':' + port_);
  }

  [[nodiscard]] Traits traits() const override {
    return {.exit_code_is_the_commands = true,
            .passes_signals = false,
            .passes_stdin_end = true,
            .outlives_client = true,
            .files_outlive_stop = true};
  }

  [[nodiscard]] Expected<HostCommand> exec(const InsideCommand& command) const override {
    if (!command.user.empty())
      return cannot_change_user("ssh", "name it before the host: USER@HOST");
    std::string line;
    if (!command.cwd.empty()) line = "cd " + shell_quote(command.cwd) + " && ";
    line += "exec ";
    if (!command.environment.empty()) line += "env ";
    for (const EnvironmentEntry& entry : command.environment) {
      line += shell_quote(assignment(entry)) + ' ';
    }
    line += shell_join(command.argv);
    Words words = client();
    if (!command.reads_stdin) words.emplace_back("-n");
    return HostCommand{std::move(words) + Words{host_, line}};
  }

  [[nodiscard]] std::optional<Error> failure(const ClientEnd& end) const override {
    if (end.code != kClientFailed) return std::nullopt;
    return Error{ErrorKind::transport, "ssh to '" + host_ + "' failed: " + first_line(end.err),
                 "try it by hand: ssh -o BatchMode=yes " + host_ + " true"};
  }

  [[nodiscard]] std::optional<HostCommand> status() const override {
    return HostCommand{client() + Words{"-n", host_, "exit 0"}};
  }
  [[nodiscard]] SandboxStatus read_status(const ClientEnd& end) const override {
    return end.code == 0 ? SandboxStatus::running : SandboxStatus::unknown;
  }

  // Ends the control connection; the commands have ended already, or have lost their client.
  [[nodiscard]] std::optional<HostCommand> disconnect() const override {
    return HostCommand{client() + Words{"-O", "exit", host_}};
  }
  [[nodiscard]] bool is_gone(const ClientEnd& end) const override {
    return end.err.find("No such file or directory") != std::string_view::npos ||
           end.err.find("Connection refused") != std::string_view::npos;
  }

 private:
  [[nodiscard]] Words client() const {
    Words words = program_ + Words{"-T",
                                   "-o",
                                   "BatchMode=yes",
                                   "-o",
                                   "ControlMaster=auto",
                                   "-o",
                                   "ControlPath=" + control_,
                                   "-o",
                                   "ControlPersist=60"};
    if (!port_.empty()) words = std::move(words) + Words{"-p", port_};
    return words;
  }

  std::string host_;
  std::string port_;
  std::string control_;
  Words program_;
};

}  // namespace

Expected<std::unique_ptr<Transport>> make_ssh(std::string_view host,
                                              const TransportOptions& options) {
  if (host.starts_with("//")) host.remove_prefix(2);
  while (host.ends_with('/')) host.remove_suffix(1);
  std::string port;
  // One colon parts a port; more are an IPv6 address, which ssh takes as it is.
  const std::size_t colon = host.find(':');
  if (colon != std::string_view::npos && host.find(':', colon + 1) == std::string_view::npos) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
    const auto number = parse_decimal<unsigned>(port);
    if (!number || *number == 0 || *number > 65535) {
      return fail(ErrorKind::input, "sandbox 'ssh:" + std::string(host) + ':' + port +
                                        "': the port must be between 1 and 65535");
    }
  }
  if (host.empty() || host.starts_with('-')) {
    return fail(ErrorKind::input, "sandbox 'ssh:" + std::string(host) + "': this is no host",
                "write ssh:[USER@]HOST[:PORT]");
  }
  return std::make_unique<Ssh>(std::string(host), std::move(port), options);
}

}  // namespace quietus::transports
