// The verbs for looking around in a sandbox: exec, put, get, doctor.
#include <filesystem>

#include "cli/in_sandbox.hpp"
#include "cli/interruptible.hpp"
#include "cli/session_verbs.hpp"
#include "cli/task.hpp"
#include "cli/verbs.hpp"
#include "cli/words.hpp"
#include "contract/exit_code.hpp"

namespace quietus::cli {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr Span kDoctorTime = 120s;

json exec_json(const ExecResult& result) {
  return {{"return_code", result.return_code ? json(*result.return_code) : json()},
          {"out", result.out},
          {"err", result.err},
          {"out_cut", result.out_cut},
          {"err_cut", result.err_cut},
          {"error", result.error ? error_json(*result.error) : json()}};
}

asio::awaitable<int> execute(const CommandLine& line, const Services& services, Screen& screen,
                             Sandbox& sandbox) {
  ExecRequest request;
  request.argv = line.words;
  request.cwd = line.workdir;
  request.environment = line.environment;
  request.user = line.user;
  request.deadline = services.settings.timeout;
  if (!screen.is_json()) {
    request.output_cap = 0;
    request.on_output = [&](OutputStream stream, std::string_view bytes) {
      stream == OutputStream::out ? screen.out(bytes) : screen.err(bytes);
    };
  }
  const ExecResult result = co_await sandbox.exec(std::move(request));
  if (screen.is_json()) {
    screen.json(exec_json(result));
  } else if (result.error) {
    screen.error(result.error->text());
  }
  if (result.error) {
    co_return result.error->kind == ErrorKind::timeout ? kExitTimedOut : kExitFailed;
  }
  co_return result.return_code.value_or(kExitFailed);
}

int transferred(Screen& screen, const Expected<void>& done, const std::string& from,
                const std::string& to) {
  if (!done) return told(screen, done.error());
  if (screen.is_json()) screen.json({{"from", from}, {"to", to}});
  return kExitSuccess;
}

// As cp(1) has it: into a directory, under the name that it has.
std::string in_directory(std::string directory, std::string_view from) {
  while (from.size() > 1 && from.ends_with('/')) from.remove_suffix(1);
  if (!directory.ends_with('/')) directory += '/';
  return directory + std::string(from.substr(from.rfind('/') + 1));
}

TransferOptions limits_of(const Services& services) {
  TransferOptions limits;
  if (services.settings.timeout < kForever) limits.deadline = services.settings.timeout;
  return limits;
}

json traits_json(const Traits& traits) {
  return {{"exit_code_is_the_commands", traits.exit_code_is_the_commands},
          {"passes_signals", traits.passes_signals},
          {"passes_stdin_end", traits.passes_stdin_end},
          {"outlives_client", traits.outlives_client},
          {"carries_stdin", traits.carries_stdin},
          {"shares_files", traits.shares_files}};
}

// What was found in a sandbox, told.
int tell_examination(Screen& screen, const Sandbox& sandbox, const ExecResult& probe,
                     const ExecResult& doctor) {
  const Traits& traits = sandbox.traits();
  const int code = doctor.error ? static_cast<int>(kExitFailed)
                                : doctor.return_code.value_or(static_cast<int>(kExitFailed));
  if (screen.is_json()) {
    const json said = json::parse(probe.out, nullptr, false);
    screen.json({{"sandbox", sandbox.name()},
                 {"traits", traits_json(traits)},
                 {"probe", said.is_discarded() ? json() : said},
                 {"doctor", doctor.out},
                 {"exit_code", code},
                 {"error", doctor.error ? error_json(*doctor.error) : json()}});
    return code;
  }
  screen.out(sandbox.name() + '\n');
  screen.out(traits.passes_stdin_end
                 ? "  when we die, the command is stopped (lease on standard input)\n"
                 : "  when we die, the command goes on until its deadline, or quietusctl gc\n");
  screen.out(traits.exit_code_is_the_commands
                 ? "  exit codes come back as they are\n"
                 : "  exit codes that come back are no evidence; the receipt is\n");
  screen.out("inside:\n" + doctor.out);
  if (!doctor.err.empty()) screen.err(doctor.err);
  if (doctor.error) screen.error(doctor.error->text());
  return code;
}

asio::awaitable<int> examine(const Services& services, Screen& screen, Sandbox& sandbox) {
  const std::string directory = fresh_session_directory(services.settings.session_parent);
  const auto supervisor = co_await services.source->place(sandbox, directory);
  if (!supervisor) co_return told(screen, supervisor.error());
  ExecRequest ask{.argv = words(*supervisor, "probe", "--json"), .deadline = kDoctorTime};
  const ExecResult probe = co_await sandbox.exec(std::move(ask));
  ExecRequest show{.argv = words(*supervisor, "doctor"), .deadline = kDoctorTime};
  const ExecResult doctor = co_await sandbox.exec(std::move(show));
  const int code = tell_examination(screen, sandbox, probe, doctor);
  co_await not_cancellable();
  if (!sandbox.traits().shares_files && sandbox.traits().payload.empty()) {
    const auto removed = co_await session_verb(sandbox, *supervisor, directory, "remove");
    if (!removed) screen.warn(removed.error().text());
  }
  co_return code;
}

}  // namespace

int exec_verb(const CommandLine& line, const Services& services, Screen& screen) {
  Work work = [&](Sandbox& sandbox) { return execute(line, services, screen, sandbox); };
  return run_interruptible(screen, in_sandbox(services, screen, std::move(work)), {},
                           [] { return true; });
}

int put_verb(const CommandLine& line, const Services& services, Screen& screen) {
  Work work = [&](Sandbox& sandbox) -> asio::awaitable<int> {
    TransferOptions limits = limits_of(services);
    const std::string& from = line.words[0];
    std::string to = line.words[1];
    if (to.ends_with('/')) to = in_directory(std::move(to), from);
    const auto done = co_await sandbox.upload(from, to, limits);
    co_return transferred(screen, done, from, to);
  };
  return run_interruptible(screen, in_sandbox(services, screen, std::move(work)));
}

int get_verb(const CommandLine& line, const Services& services, Screen& screen) {
  Work work = [&](Sandbox& sandbox) -> asio::awaitable<int> {
    TransferOptions limits = limits_of(services);
    limits.most_bytes = services.settings.max_artifact;
    const std::string& from = line.words[0];
    std::string to = line.words[1];
    std::error_code error;
    if (to.ends_with('/') || std::filesystem::is_directory(to, error)) {
      to = in_directory(std::move(to), from);
    }
    const auto done = co_await sandbox.download(from, to, limits);
    co_return transferred(screen, done, from, to);
  };
  return run_interruptible(screen, in_sandbox(services, screen, std::move(work)));
}

int doctor_verb(const CommandLine&, const Services& services, Screen& screen) {
  Work work = [&](Sandbox& sandbox) { return examine(services, screen, sandbox); };
  return run_interruptible(screen, in_sandbox(services, screen, std::move(work)));
}

}  // namespace quietus::cli
