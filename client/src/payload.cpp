#include "quietus/payload.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "client/src/words.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Span kVersionTime = 60s;
constexpr unsigned kMode = 0755;

// Empty: it can be started.
std::string why_no_program(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error) return error.message();
  if (!fs::is_regular_file(status)) return "it is no regular file";
  return access(path.c_str(), X_OK) == 0 ? std::string() : std::strerror(errno);
}

class PayloadFile final : public PayloadSource {
 public:
  explicit PayloadFile(std::string path) : path_(std::move(path)) {}

  asio::awaitable<Expected<std::string>> place(Sandbox& sandbox, std::string directory) override {
    const Traits& traits = sandbox.traits();
    if (!traits.payload.empty()) co_return co_await shown(sandbox, traits.payload);
    // The same file for every session: it is asked once.
    if (traits.shares_files) {
      if (!works_here_) {
        const auto there = co_await shown(sandbox, path_);
        if (!there) co_return there;
        works_here_ = true;
      }
      co_return path_;
    }
    const std::string inside = directory + "/quietus";
    TransferOptions options{.mode = kMode, .private_parents = true};
    const auto uploaded = co_await sandbox.upload(path_, inside, options);
    if (!uploaded) co_return fail(uploaded.error());
    co_return co_await shown(sandbox, inside);
  }

 private:
  // Once it has said its version.
  static asio::awaitable<Expected<std::string>> shown(Sandbox& sandbox, std::string inside) {
    ExecRequest request{.argv = words(inside, "--version", "--json"), .deadline = kVersionTime};
    const ExecResult result = co_await sandbox.exec(std::move(request));
    if (result.error) co_return fail(*result.error);
    const auto version = parse_payload_version(result.out);
    if (version) co_return inside;
    std::string message = "'" + inside + "' does not run in '" + sandbox.name() + "'";
    if (result.return_code) message += " (exit " + std::to_string(*result.return_code) + ")";
    Error error{
        ErrorKind::sandbox, std::move(message),
        "use a payload for the sandbox's machine (uname -m), and a directory without noexec"};
    if (!result.err.empty()) {
      Error below{ErrorKind::sandbox, result.err.substr(0, result.err.find_last_not_of('\n') + 1)};
      error = std::move(error).because(std::move(below));
    }
    co_return fail(std::move(error));
  }

  std::string path_;
  bool works_here_ = false;
};

}  // namespace

Expected<std::string> find_payload(const PayloadSearch& search) {
  for (const std::string& given : {search.explicit_path, search.environment_path}) {
    if (given.empty()) continue;
    const std::string why = why_no_program(given);
    if (why.empty()) return fs::absolute(given).string();
    return fail(ErrorKind::input, "the payload '" + given + "' is no program: " + why,
                "build it (cmake --preset musl), or name another with --payload");
  }
  std::vector<fs::path> places;
  std::error_code error;
  const fs::path executable = fs::canonical(search.executable, error);
  if (!search.executable.empty() && !error) {
    const fs::path folder = executable.parent_path();
    places.push_back(folder / "quietus");
    places.push_back(folder / "../libexec/quietus/quietus");
    places.push_back(folder / "../musl/quietus");  // build/dev beside build/musl
  }
  places.emplace_back(QUIETUS_LIBEXEC_DIR "/quietus");
  std::string looked;
  for (const fs::path& place : places) {
    if (why_no_program(place).empty()) return fs::canonical(place, error).string();
    looked += (looked.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  return fail(ErrorKind::input, "there is no payload: looked for " + looked,
              "build it (cmake --preset musl), or name one with --payload or QUIETUS_PAYLOAD");
}

std::shared_ptr<PayloadSource> payload_file(std::string path) {
  return std::make_shared<PayloadFile>(std::move(path));
}

Expected<PayloadVersion> parse_payload_version(std::string_view json) {
  const auto object = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  PayloadVersion version;
  const std::pair<const char*, std::string*> fields[] = {{"version", &version.version},
                                                         {"commit", &version.commit},
                                                         {"machine", &version.machine},
                                                         {"libc", &version.libc}};
  const bool ours = object.is_object() && object.value("name", nlohmann::json()) == "quietus";
  for (const auto& [key, into] : fields) {
    if (!ours || !object.contains(key) || !object[key].is_string()) {
      return fail(ErrorKind::sandbox, "this is not what quietus --version --json says");
    }
    *into = object[key].get<std::string>();
  }
  return version;
}

}  // namespace quietus
