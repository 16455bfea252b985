// The supervisor's binary: where it lies on this machine, and how it gets into a sandbox.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quietus/sandbox.hpp"

namespace quietus {

struct PayloadSearch {
  std::string explicit_path = {};     // an option; if given, nothing else is looked at
  std::string environment_path = {};  // QUIETUS_PAYLOAD, the same
  std::string executable = {};        // our own (/proc/self/exe): its neighbours are looked at
};

// A statically linked quietus: the path given, else beside the executable, in the libexec folder of
// the installation, or in the build tree. The error (input) names the places.
Expected<std::string> find_payload(const PayloadSearch& search);

// How a supervisor gets into a sandbox. The bootstrap (another architecture, a cache, a download)
// is another class of this kind. It may serve many sandboxes, all of one executor (see
// sandbox.hpp).
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;
  // Afterwards a supervisor that has said its version stands in the sandbox; its path there. If the
  // sandbox does not have one already (Traits::payload, Traits::shares_files), it is uploaded to
  // `directory`/quietus, whole or not at all. May be repeated.
  virtual asio::awaitable<Expected<std::string>> place(Sandbox& sandbox, std::string directory) = 0;
};

// The one file at `path` on this machine.
std::shared_ptr<PayloadSource> payload_file(std::string path);

// What `quietus --version --json` says.
struct PayloadVersion {
  std::string version;
  std::string commit;
  std::string machine;  // x86_64, aarch64
  std::string libc;
};
Expected<PayloadVersion> parse_payload_version(std::string_view json);

}  // namespace quietus
