#include "client/bootstrap/program_check.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "client/bootstrap/digest.hpp"
#include "client/bootstrap/inquiry.hpp"
#include "client/bootstrap/words.hpp"
#include "client/src/descriptor.hpp"
#include "client/src/process.hpp"
#include "client/src/words.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr Span kHostCheckTime = 30s;

}  // namespace

std::function<std::string(std::string_view)> expected_output(const ToolManifest& manifest) {
  return [expect = manifest.expect](std::string_view out) -> std::string {
    if (expect.empty() || out.starts_with(expect)) return {};
    return "it says '" + shown_text(out) + "' instead of '" + expect + "'";
  };
}

Expected<void> judge(const LocalProgram& program, const std::string& path, std::string_view out,
                     std::string_view err, std::optional<int> code) {
  if (code != 0) {
    const std::string said = shown_text(err.empty() ? out : err);
    return fail(ErrorKind::sandbox, "'" + path + "' does not run (exit " +
                                        (code ? std::to_string(*code) : std::string("unknown")) +
                                        ")" + (said.empty() ? "" : ": " + said));
  }
  const std::string wrong = program.accepts ? program.accepts(out) : std::string();
  if (wrong.empty()) return {};
  return fail(ErrorKind::sandbox, "'" + path + "' is not what it should be: " + wrong);
}

asio::awaitable<std::optional<LocalProgram>> own_tool(std::string path, ToolManifest manifest,
                                                      Platform platform,
                                                      std::vector<std::string>& notes) {
  if (path.empty()) co_return std::nullopt;
  const auto leave = [&](const std::string& why) {
    notes.push_back("this machine's own " + path + " is not used: " + why);
  };
  const auto file = open_file(path.c_str(), O_RDONLY);
  if (!file) {
    leave(file.error().message);
    co_return std::nullopt;
  }
  std::string bytes;
  std::vector<char> chunk(std::size_t{1} << 20);
  for (ssize_t got = 0; (got = ::read(file->get(), chunk.data(), chunk.size())) > 0;) {
    bytes.append(chunk.data(), static_cast<std::size_t>(got));
  }
  const auto elf = read_elf(bytes, path);
  const std::string why = elf ? why_not_reused(*elf, platform) : elf.error().message;
  if (!why.empty()) {
    leave(why);
    co_return std::nullopt;
  }
  LocalProgram program{.path = path,
                       .name = manifest.name,
                       .sha256 = sha256_of(bytes),
                       .size = bytes.size(),
                       .machine = elf->machine,
                       .check = manifest.check};
  program.accepts = expected_output(manifest);
  ProcessRequest request;
  request.deadline = after(kHostCheckTime);
  request.output_cap = kAnswerCap;
  request.command.argv = words(path);
  request.command.argv.insert(request.command.argv.end(), manifest.check.begin(),
                              manifest.check.end());
  const ProcessEnd end = co_await run_process(std::move(request));
  const auto says =
      end.error ? Expected<void>(fail(*end.error))
                : judge(program, path, end.out, end.err,
                        end.status ? std::optional<int>(end.status->code) : std::optional<int>());
  if (!says) {
    leave(says.error().message);
    co_return std::nullopt;
  }
  co_return program;
}

}  // namespace quietus
