// The supervisor's builds on this machine: quietus-MACHINE in one folder with a SHA256SUMS that
// lists them, or those of the build tree.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "client/bootstrap/digest.hpp"
#include "client/bootstrap/words.hpp"
#include "client/src/descriptor.hpp"
#include "client/src/local_file.hpp"
#include "quietus/bootstrap.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMachines[] = {"x86_64", "aarch64"};
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

// "DIGEST  NAME" of each line; sha256sum's own form.
std::map<std::string, std::string> read_sums(const fs::path& path) {
  std::map<std::string, std::string> sums;
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    std::string_view rest = line;
    const std::string digest(take(rest, ' '));
    if (!is_sha256(digest) || rest.empty()) continue;
    rest.remove_prefix(1);  // a blank, or the star of binary mode
    sums[std::string(rest)] = digest;
  }
  return sums;
}

Expected<std::string> read_program(const std::string& path) {
  auto bytes = read_local_file(path, kMostBytes);
  if (bytes) return bytes;
  Error error{ErrorKind::input, "the payload '" + path + "' is no program",
              "build it (cmake --preset musl), or name another with --payload"};
  return fail(std::move(error).because(bytes.error()));
}

std::string why_no_supervisor(std::string_view out, const std::string& machine) {
  const auto version = parse_payload_version(out);
  if (!version) return version.error().message;
  if (machine_name(version->machine) == machine) return {};
  return "it says that it is for " + shown_text(version->machine);
}

}  // namespace

Expected<LocalProgram> supervisor_program(const std::string& path) {
  const auto bytes = read_program(path);
  if (!bytes) return fail(bytes.error());
  const auto elf = read_elf(*bytes, path);
  if (!elf) return fail(elf.error());
  if (!elf->interpreter.empty() || !elf->libraries.empty()) {
    return fail(ErrorKind::input,
                "the payload '" + path + "' is not static: it needs " +
                    (elf->interpreter.empty() ? elf->libraries.front() : elf->interpreter),
                "use a static build (cmake --preset musl)");
  }
  LocalProgram program{.path = path,
                       .name = "quietus",
                       .sha256 = sha256_of(*bytes),
                       .size = bytes->size(),
                       .machine = elf->machine,
                       .check = {"--version", "--json"}};
  program.accepts = [machine = elf->machine](std::string_view out) {
    return why_no_supervisor(out, machine);
  };
  return program;
}

Expected<std::vector<LocalProgram>> find_supervisors(const PayloadSearch& search) {
  std::vector<LocalProgram> found;
  for (const std::string& given : {search.explicit_path, search.environment_path}) {
    if (given.empty()) continue;
    auto program = supervisor_program(given);
    if (!program) return fail(program.error());
    found.push_back(std::move(*program));
    return found;
  }
  std::vector<std::string> looked;
  std::vector<fs::path> folders;
  std::error_code error;
  const fs::path executable = fs::canonical(search.executable, error);
  const fs::path beside =
      search.executable.empty() || error ? fs::path() : executable.parent_path();
  if (!beside.empty()) {
    folders.push_back(beside);
    folders.push_back(beside / "../libexec/quietus");
  }
  folders.emplace_back(QUIETUS_LIBEXEC_DIR);
  for (const fs::path& folder : folders) {
    const auto sums = read_sums(folder / "SHA256SUMS");
    for (const char* const machine : kMachines) {
      const std::string name = std::string("quietus-") + machine;
      const fs::path path = (folder / name).lexically_normal();
      looked.push_back(path.string());
      const auto listed = sums.find(name);
      if (listed == sums.end() || !fs::is_regular_file(path, error)) continue;
      auto program = supervisor_program(path.string());
      if (!program || program->sha256 != listed->second || program->machine != machine) {
        Error differs{ErrorKind::input,
                      "'" + path.string() + "' is not what SHA256SUMS beside it lists",
                      "install quietus again, or name a payload with --payload"};
        return fail(program ? std::move(differs) : std::move(differs).because(program.error()));
      }
      found.push_back(std::move(*program));
    }
    if (!found.empty()) return found;
  }
  // build/dev beside build/musl and build/musl-aarch64, as CMake's presets make them.
  for (const char* const preset : {"../musl/quietus", "../musl-aarch64/quietus"}) {
    if (beside.empty()) break;
    const fs::path path = (beside / preset).lexically_normal();
    looked.push_back(path.string());
    if (!fs::is_regular_file(path, error)) continue;
    auto program = supervisor_program(path.string());
    if (!program) return fail(program.error());
    found.push_back(std::move(*program));
  }
  if (!found.empty()) return found;
  // One for this machine alone is better than none.
  if (const auto usual = find_payload(search)) {
    auto program = supervisor_program(*usual);
    if (program) {
      found.push_back(std::move(*program));
      return found;
    }
    looked.push_back(*usual + " (" + program.error().message + ")");
  }
  return fail(ErrorKind::input, "there is no payload: looked for " + joined(looked, ", "),
              "build them (cmake --preset musl, musl-aarch64), or name one with --payload or "
              "QUIETUS_PAYLOAD");
}

}  // namespace quietus
