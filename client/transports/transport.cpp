// What a transport says when it has nothing of its own to say.
#include "quietus/transport.hpp"

namespace quietus {

std::optional<Error> Transport::failure(const ClientEnd&) const { return std::nullopt; }
std::optional<std::string> Transport::host_root() const { return std::nullopt; }
std::optional<HostCommand> Transport::copy_in(std::string_view, std::string_view) const {
  return std::nullopt;
}
std::optional<HostCommand> Transport::copy_out(std::string_view, std::string_view) const {
  return std::nullopt;
}
std::optional<HostCommand> Transport::status() const { return std::nullopt; }
SandboxStatus Transport::read_status(const ClientEnd&) const { return SandboxStatus::unknown; }
Expected<HostCommand> Transport::create(std::string_view) const {
  return fail(ErrorKind::input, "'" + name() + "' is not made by us");
}
Expected<std::unique_ptr<Transport>> Transport::created(const ClientEnd&) const {
  return fail(ErrorKind::input, "'" + name() + "' is not made by us");
}
std::optional<HostCommand> Transport::stop() const { return std::nullopt; }
bool Transport::is_gone(const ClientEnd&) const { return false; }
std::optional<HostCommand> Transport::disconnect() const { return std::nullopt; }

std::string_view name(SandboxStatus status) {
  switch (status) {
    case SandboxStatus::unknown: return "unknown";
    case SandboxStatus::starting: return "starting";
    case SandboxStatus::running: return "running";
    case SandboxStatus::stopped: return "stopped";
    case SandboxStatus::absent: return "absent";
    case SandboxStatus::error: return "error";
  }
  return "unknown";
}

}  // namespace quietus
