// Asks a sandbox what it is, and puts a program there: as few commands inside as possible, since
// each costs a client's start. With a shell: one that asks, one that brings the program and runs
// it.
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "client/bootstrap/cache_path.hpp"
#include "client/bootstrap/digest.hpp"
#include "client/bootstrap/scripts.hpp"
#include "client/bootstrap/words.hpp"
#include "client/src/descriptor.hpp"
#include "client/src/process.hpp"
#include "client/src/random_token.hpp"
#include "client/src/task.hpp"
#include "client/src/words.hpp"
#include "quietus/bootstrap.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr Span kAskTime = 60s;
constexpr Span kCheckTime = 120s;
constexpr Span kHostCheckTime = 30s;
constexpr unsigned kMode = 0755;
constexpr std::size_t kOutputCap = std::size_t{256} << 10;
constexpr std::size_t kShortDigest = 16;
// A program needs a little more than its bytes.
constexpr std::uint64_t kSlack = std::uint64_t{64} << 10;

// Nothing to look for.
const std::vector<std::string> kNone;

// Where a program of this digest stands.
std::string folder_of(const std::string& digest) { return digest.substr(0, kShortDigest); }

// Without a shell nobody can make a directory, nor tell the uid before the program is there.
std::string path_without_shell(const std::string& directory, const LocalProgram& program) {
  return (directory == "/" ? "" : directory) + '/' + program.name + '-' + folder_of(program.sha256);
}

// Where something was refused, and why; each reason is told once.
class Refusals {
 public:
  void add(std::string where, const std::string& why) {
    for (auto& [known, places] : reasons_) {
      if (known != why) continue;
      places.push_back(std::move(where));
      return;
    }
    reasons_.emplace_back(why, std::vector<std::string>{std::move(where)});
  }
  [[nodiscard]] std::string text() const {
    std::vector<std::string> parts;
    for (const auto& [why, places] : reasons_) parts.push_back(joined(places, ", ") + ": " + why);
    return joined(parts, "; ");
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons_;
};

struct Survey {
  bool has_shell = false;
  ShellAnswers answers;
};

struct Asked {
  Platform platform = {};
  bool has_shell = false;
  std::vector<std::string> present = {};
  // Without a shell: the supervisor that answered, the directory in which it stands, and what it
  // took to bring it.
  std::string probe = {};
  std::string directory = {};
  std::uint64_t sent = 0;
};

tl::unexpected<Error> cannot(const std::string& what, const Sandbox& sandbox, const Error& why) {
  Error error{why.kind, what + " in '" + sandbox.name() + "'", why.advice};
  return fail(std::move(error).because(Error{why.kind, why.message, {}, why.cause}));
}

std::string host_machine() {
  utsname host{};
  return uname(&host) == 0 ? machine_name(host.machine) : std::string();
}

// Whether another try makes sense: what the sandbox says no to may have another way.
bool is_final(const Error& error) {
  return error.kind == ErrorKind::cancelled || error.kind == ErrorKind::timeout ||
         error.kind == ErrorKind::transport;
}

class Bootstrap {
 public:
  Bootstrap(Sandbox& sandbox, BootstrapOptions options)
      : sandbox_(sandbox), options_(std::move(options)) {}

  asio::awaitable<Expected<Platform>> probe() {
    auto asked = co_await ask(kNone, std::string(), 0, options_.directories);
    if (!asked) co_return fail(asked.error());
    co_return std::move(asked->platform);
  }

  asio::awaitable<Expected<Placed>> supervisor() {
    auto there = co_await mounted();
    if (there) co_return std::move(*there);
    const std::vector<LocalProgram>& builds = options_.supervisors;
    std::vector<std::string> digests;
    std::uint64_t largest = 0;
    for (const LocalProgram& build : builds) {
      digests.push_back(folder_of(build.sha256));
      largest = std::max(largest, build.size);
    }
    auto asked = co_await ask(digests, "quietus", largest, options_.directories);
    if (!asked) co_return fail(asked.error());
    const auto fits = [&](const LocalProgram& build) {
      return build.machine == asked->platform.machine;
    };
    const auto build = std::ranges::find_if(builds, fits);
    if (build == builds.end() || asked->platform.kernel != "Linux") {
      std::vector<std::string> machines;
      for (const LocalProgram& one : builds) machines.push_back(one.machine);
      co_return fail(ErrorKind::sandbox,
                     "there is no supervisor for '" + sandbox_.name() + "' (" +
                         asked->platform.text() + "); there are builds for " +
                         joined(machines, ", "),
                     "build it for that machine, and name it with --payload or QUIETUS_PAYLOAD");
    }
    co_return co_await place(*build, std::move(*asked));
  }

  asio::awaitable<Expected<Placed>> tool(ToolManifest manifest) {
    auto asked = co_await ask(kNone, manifest.name, 0, options_.directories);
    if (!asked) co_return fail(asked.error());
    auto reused = co_await host_tool(manifest, asked->platform);
    if (reused) {
      auto placed = co_await place(*reused, *asked);
      if (placed || is_final(placed.error())) co_return placed;
      notes_.push_back("this machine's own: " + placed.error().message);
    }
    const auto target = choose_target(manifest, asked->platform);
    if (!target) co_return cannot("cannot bootstrap " + manifest.name, sandbox_, target.error());
    if (options_.dry_run) co_return foreseen(manifest, *target, *asked);
    auto fetched = co_await fetch_tool_async(manifest, *target, options_.fetch);
    if (!fetched) co_return fail(fetched.error());
    LocalProgram program{.path = fetched->entry.program,
                         .name = manifest.name,
                         .sha256 = fetched->entry.program_sha256,
                         .size = fetched->entry.size,
                         .machine = target->machine,
                         .check = manifest.check};
    program.accepts = accepts(manifest);
    // Its digest is known only now.
    if (asked->has_shell) {
      const std::vector<std::string> digests = words(folder_of(program.sha256));
      auto again = co_await ask(digests, program.name, program.size, options_.directories);
      if (!again) co_return fail(again.error());
      asked = std::move(again);
    }
    auto placed = co_await place(program, std::move(*asked));
    if (placed) placed->unverified = !fetched->entry.verified;
    co_return placed;
  }

 private:
  static std::function<std::string(std::string_view)> accepts(const ToolManifest& manifest) {
    return [expect = manifest.expect](std::string_view out) -> std::string {
      if (expect.empty() || out.starts_with(expect)) return {};
      return "it says '" + shown_text(out) + "' instead of '" + expect + "'";
    };
  }

  // --- asking -----------------------------------------------------------------------------------

  asio::awaitable<Expected<Survey>> survey(std::vector<std::string> wanted, std::string name,
                                           std::uint64_t bytes,
                                           std::vector<std::string> directories) {
    const std::string token = "q" + random_token();
    std::vector<std::string> argv =
        words("sh", "-c", kSurveyScript, "sh", token, std::to_string((bytes + kSlack) >> 10),
              joined(wanted, " "), std::move(name), options_.dry_run ? "" : "keep");
    for (const std::string& directory : directories) argv.push_back(directory);
    ExecRequest request{.argv = std::move(argv), .deadline = kAskTime, .output_cap = kOutputCap};
    const ExecResult result = co_await sandbox_.exec(std::move(request));
    Survey survey;
    survey.has_shell = result.out.find(token) != std::string::npos;
    if (!survey.has_shell) {
      // That it could not be asked says nothing of a shell.
      if (result.error && result.error->kind != ErrorKind::sandbox) {
        co_return cannot("cannot ask what there is", sandbox_, *result.error);
      }
      co_return survey;
    }
    if (result.error) co_return cannot("cannot ask what there is", sandbox_, *result.error);
    auto answers = parse_shell_answers(result.out, token);
    if (!answers) co_return cannot("cannot use the answers", sandbox_, answers.error());
    survey.answers = std::move(*answers);
    co_return survey;
  }

  asio::awaitable<Expected<Asked>> ask(std::vector<std::string> wanted, std::string name,
                                       std::uint64_t bytes, std::vector<std::string> directories) {
    for (const std::string& directory : directories) {
      const bool is_line = std::ranges::none_of(directory, [](char c) { return c == '\n'; });
      if (directory.starts_with('/') && is_line) continue;
      co_return fail(ErrorKind::input, "'" + shown_text(directory) + "' is no absolute directory");
    }
    auto surveyed = co_await survey(std::move(wanted), std::move(name), bytes, directories);
    if (!surveyed) co_return fail(surveyed.error());
    ShellAnswers& answers = surveyed->answers;
    if (surveyed->has_shell && answers.missing.empty()) {
      co_return Asked{.platform = std::move(answers.platform),
                      .has_shell = true,
                      .present = std::move(answers.present)};
    }
    // What the shell cannot tell, our own program may.
    auto asked = co_await ask_own(directories);
    if (!surveyed->has_shell) co_return asked;
    const std::string missing = joined(answers.missing, ", its ");
    if (!asked) {
      co_return fail(Error{ErrorKind::sandbox,
                           "'" + sandbox_.name() + "' does not tell its " + missing,
                           "give it the programs that tell it, or fix what is said below"}
                         .because(asked.error()));
    }
    // Two that were asked must not differ.
    const Platform& shell = answers.platform;
    const std::pair<const std::string&, const std::string&> pairs[] = {
        {shell.kernel, asked->platform.kernel}, {shell.machine, asked->platform.machine}};
    for (const auto& [one, other] : pairs) {
      if (one.empty() || one == other) continue;
      co_return fail(ErrorKind::sandbox, "'" + sandbox_.name() +
                                             "' contradicts itself: its shell "
                                             "says " +
                                             shown_text(one) + ", its kernel " + shown_text(other));
    }
    notes_.push_back("the shell did not tell its " + missing + "; quietus probe did");
    co_return asked;
  }

  // By a supervisor that answers for itself: each build, in each directory, until one runs.
  asio::awaitable<Expected<Asked>> ask_own(std::vector<std::string> directories) {
    std::vector<LocalProgram> builds = options_.supervisors;
    const std::string here = host_machine();
    std::ranges::stable_partition(builds,
                                  [&](const LocalProgram& build) { return build.machine == here; });
    Refusals tried;
    for (const bool may_send : {false, true}) {
      if (may_send && options_.dry_run) break;
      for (const std::string& directory : directories) {
        for (const LocalProgram& build : builds) {
          const std::string path = path_without_shell(directory, build);
          if (may_send) {
            const TransferOptions transfer{.mode = kMode};
            const auto sent = co_await sandbox_.upload(build.path, path, transfer);
            if (!sent && is_final(sent.error())) co_return fail(sent.error());
            if (!sent) {
              tried.add(directory, sent.error().message);
              break;  // the other builds would fare alike
            }
          }
          auto platform = co_await probe_by(path, directory);
          if (platform) {
            co_return Asked{.platform = std::move(*platform),
                            .probe = path,
                            .directory = directory,
                            .sent = may_send ? build.size : 0};
          }
          if (is_final(platform.error())) co_return fail(platform.error());
          if (may_send) {
            tried.add(path + " (" + build.machine + ")", platform.error().message);
          }
        }
      }
    }
    if (options_.dry_run) {
      co_return fail(ErrorKind::sandbox,
                     "'" + sandbox_.name() +
                         "' has no shell that could be asked, and a dry run "
                         "leaves nothing inside that could",
                     "repeat it without --dry-run");
    }
    co_return fail(ErrorKind::sandbox,
                   "no program of ours runs in '" + sandbox_.name() + "': " + tried.text(),
                   "name a directory that can be written and runs programs, or mount the "
                   "supervisor into the sandbox");
  }

  asio::awaitable<Expected<Platform>> probe_by(std::string path, std::string directory) {
    // It looks at /tmp, and at its working directory.
    ExecRequest request{.argv = words(path, "probe", "--json"),
                        .cwd = directory == "/tmp" ? std::string() : directory,
                        .deadline = kAskTime,
                        .output_cap = kOutputCap};
    const ExecResult result = co_await sandbox_.exec(std::move(request));
    if (result.error) co_return fail(*result.error);
    if (result.out.empty()) {
      const std::string said = shown_text(result.err);
      co_return fail(ErrorKind::sandbox, said.empty() ? "it does not run" : said);
    }
    co_return parse_probe_answer(result.out);
  }

  // --- what is there already
  // ----------------------------------------------------------------------

  // Mounted by whoever made the sandbox: no value where it is not.
  asio::awaitable<std::optional<Placed>> mounted() {
    const std::string path = sandbox_.traits().payload;
    if (path.empty()) co_return std::nullopt;
    LocalProgram program{.name = "quietus", .check = words("--version", "--json")};
    program.accepts = [](std::string_view out) -> std::string {
      const auto version = parse_payload_version(out);
      return version ? std::string() : version.error().message;
    };
    const auto why = co_await run_check(program, path);
    if (!why) {
      notes_.push_back("the mounted " + path + ": " + why.error().message);
      co_return std::nullopt;
    }
    // The program itself is of a machine that runs there.
    const std::string directory = "/tmp";
    auto platform = co_await probe_by(path, directory);
    if (!platform) {
      notes_.push_back("the mounted " + path + ": " + platform.error().message);
      co_return std::nullopt;
    }
    Placed placed{.path = path, .platform = std::move(*platform), .how = "mounted"};
    co_return placed;
  }

  // Succeeds if the program at `path` inside runs, and says what it should.
  asio::awaitable<Expected<void>> run_check(LocalProgram program, std::string path) {
    if (program.check.empty()) co_return Expected<void>{};
    std::vector<std::string> argv = words(path);
    argv.insert(argv.end(), program.check.begin(), program.check.end());
    ExecRequest request{.argv = std::move(argv), .deadline = kCheckTime, .output_cap = kOutputCap};
    const ExecResult result = co_await sandbox_.exec(std::move(request));
    if (result.error) co_return fail(*result.error);
    const Expected<void> judged = judge(program, path, result.out, result.err, result.return_code);
    ran_wrong_ = !judged;
    co_return judged;
  }

  static Expected<void> judge(const LocalProgram& program, const std::string& path,
                              std::string_view out, std::string_view err, std::optional<int> code) {
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

  // This machine's own tool, if it is known to run there and is of the manifest's version.
  asio::awaitable<std::optional<LocalProgram>> host_tool(ToolManifest manifest, Platform platform) {
    if (options_.host_program.empty()) co_return std::nullopt;
    const std::string path = options_.host_program;
    const auto leave = [&](const std::string& why) {
      notes_.push_back("this machine's own " + path + " is not used: " + why);
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
    program.accepts = accepts(manifest);
    ProcessRequest request;
    request.deadline = after(kHostCheckTime);
    request.output_cap = kOutputCap;
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

  // --- placing
  // ------------------------------------------------------------------------------------

  Placed started(const LocalProgram& program, const Asked& asked) const {
    return {.platform = asked.platform,
            .local = program.path,
            .sha256 = program.sha256,
            .notes = notes_};
  }
  static std::string base_of(const Asked& asked, const std::string& directory) {
    const std::string below = directory == "/" ? directory : directory + '/';
    return below + "quietus-" + std::to_string(asked.platform.uid);
  }

  Expected<Placed> foreseen(const ToolManifest& manifest, const ToolTarget& target,
                            const Asked& asked) const {
    const SandboxDirectory* const directory = asked.platform.usable(0);
    if (directory == nullptr) return no_directory(asked.platform, 0);
    std::string path = asked.has_shell
                           ? base_of(asked, directory->path) + "/DIGEST/" + manifest.name
                           : asked.directory + '/' + manifest.name + "-DIGEST";
    if (sandbox_.traits().shares_files) {
      path = path_in_cache(manifest, target, options_.fetch.cache);
    }
    return Placed{.path = path,
                  .platform = asked.platform,
                  .local = target.url,
                  .how = "dry run",
                  .unverified = target.sha256.empty(),
                  .notes = notes_};
  }

  tl::unexpected<Error> no_directory(const Platform& platform, std::uint64_t bytes) const {
    std::vector<std::string> why;
    for (const SandboxDirectory& one : platform.directories) {
      why.push_back(
          one.path + " " +
          (one.executes ? "has only " + std::to_string(one.free_bytes) + " bytes free" : one.why));
    }
    return fail(ErrorKind::sandbox,
                "there is no place for a program of " + std::to_string(bytes) + " bytes in '" +
                    sandbox_.name() + "': " + joined(why, "; "),
                "name a directory that runs programs with --directory");
  }

  asio::awaitable<Expected<Placed>> place(LocalProgram program, Asked asked) {
    // A path means the same file here and there.
    if (sandbox_.traits().shares_files) {
      if (options_.dry_run) {
        Placed placed = started(program, asked);
        placed.path = program.path;
        placed.how = "dry run";
        co_return placed;
      }
      const auto runs = co_await run_check(program, program.path);
      if (runs) {
        Placed placed = started(program, asked);
        placed.path = program.path;
        placed.how = "shared";
        co_return placed;
      }
      if (is_final(runs.error())) co_return fail(runs.error());
      notes_.push_back(runs.error().message);
    }
    if (!asked.has_shell) co_return co_await place_without_shell(program, std::move(asked));

    for (const std::string& present : asked.present) {
      if (options_.dry_run) break;
      std::string_view path = present;
      if (take(path, ' ') != program.sha256) continue;
      const auto runs = co_await run_check(program, std::string(path));
      if (runs) {
        Placed placed = started(program, asked);
        placed.path = path;
        placed.how = "present";
        co_return placed;
      }
      if (is_final(runs.error())) co_return fail(runs.error());
      notes_.push_back(runs.error().message);
    }

    const std::vector<std::string>& all = options_.directories;
    for (;;) {
      const SandboxDirectory* const found = asked.platform.usable(program.size + kSlack);
      if (found == nullptr) co_return no_directory(asked.platform, program.size);
      const std::string directory = found->path;
      const std::string base = base_of(asked, directory);
      const std::string folder = base + '/' + folder_of(program.sha256);
      Placed placed = started(program, asked);
      placed.path = folder + '/' + program.name;
      if (options_.dry_run) {
        placed.how = "dry run";
        co_return placed;
      }
      auto done = co_await deliver(program, base, folder, placed);
      if (done) {
        placed.notes = notes_;
        co_return placed;
      }
      if (ran_wrong_ || is_final(done.error())) {
        co_return cannot("cannot place " + program.name, sandbox_, done.error());
      }
      notes_.push_back(directory + ": " + done.error().text());
      // Those behind it were not looked at.
      const auto at = std::ranges::find(all, directory);
      std::vector<std::string> rest(at == all.end() ? at : at + 1, all.end());
      if (rest.empty()) co_return cannot("cannot place " + program.name, sandbox_, done.error());
      auto again = co_await ask(kNone, program.name, program.size, std::move(rest));
      if (!again) co_return fail(again.error());
      if (!again->has_shell)
        co_return cannot("cannot place " + program.name, sandbox_, done.error());
      asked = std::move(*again);
    }
  }

  // By our own script, else by whatever way the sandbox has for files. Checked afterwards.
  asio::awaitable<Expected<void>> deliver(LocalProgram program, std::string base,
                                          std::string folder, Placed& placed) {
    ran_wrong_ = false;
    if (sandbox_.traits().carries_stdin) {
      placed.how = "cat";
      placed.sent = program.size;
      auto done = co_await deliver_through_shell(program, base, folder);
      if (done || ran_wrong_ || is_final(done.error())) co_return done;
      notes_.push_back("cat: " + done.error().message);
    }
    placed.how = "upload";
    placed.sent = program.size;
    const TransferOptions transfer{.mode = kMode};
    auto uploaded = co_await sandbox_.upload(program.path, placed.path, transfer);
    if (!uploaded) co_return uploaded;
    co_return co_await run_check(program, placed.path);
  }

  asio::awaitable<Expected<void>> deliver_through_shell(LocalProgram program, std::string base,
                                                        std::string folder) {
    const std::string token = "q" + random_token();
    std::vector<std::string> argv =
        words("sh", "-c", kDeliverScript, "sh", token, base, folder, program.name,
              std::to_string(program.size), program.sha256);
    argv.insert(argv.end(), program.check.begin(), program.check.end());
    ExecRequest request{.argv = std::move(argv),
                        .input = Input::file(program.path),
                        .deadline = TransferOptions{}.deadline,
                        .output_cap = kOutputCap};
    const ExecResult result = co_await sandbox_.exec(std::move(request));
    const std::string_view out = result.out;
    const auto said = [&](const std::string& words) { return out.find(token + ' ' + words); };
    const std::string path = folder + '/' + program.name;
    const std::size_t stored = said("stored\n");
    if (stored == std::string_view::npos) {
      if (result.error) co_return fail(*result.error);
      if (said("short") != std::string_view::npos) {
        co_return fail(ErrorKind::sandbox, "'" + path + "': the transfer was cut");
      }
      if (said("differs") != std::string_view::npos) {
        co_return fail(ErrorKind::sandbox, "'" + path + "': what arrived has another digest");
      }
      co_return fail(ErrorKind::sandbox, "cannot write '" + path + "': " + shown_text(result.err));
    }
    if (program.check.empty()) co_return Expected<void>{};
    const std::size_t begin = stored + token.size() + std::string_view(" stored\n").size();
    const std::string mark = token + " ran ";
    const std::size_t end = out.find(mark, begin);
    if (end == std::string_view::npos) {
      if (result.error) co_return fail(*result.error);
      co_return fail(ErrorKind::sandbox, "'" + path + "' was stored, and its check did not end");
    }
    std::string_view code = out.substr(end + mark.size());
    const auto number = parse_decimal<int>(take(code, '\n'));
    const std::string_view printed = out.substr(begin, end - begin);
    const Expected<void> judged = judge(program, path, printed, result.err, number);
    ran_wrong_ = !judged;
    co_return judged;
  }

  asio::awaitable<Expected<Placed>> place_without_shell(LocalProgram program, Asked asked) {
    Placed placed = started(program, asked);
    placed.path = path_without_shell(asked.directory, program);
    // The supervisor that answered is the program itself.
    if (placed.path == asked.probe) {
      const auto runs = co_await run_check(program, placed.path);
      if (!runs) co_return fail(runs.error());
      placed.sent = asked.sent;
      placed.how = asked.sent > 0 ? "upload" : "present";
      co_return placed;
    }
    // That programs run there has been shown by one. (Under qemu-user none can start another.)
    const auto room =
        std::ranges::find(asked.platform.directories, asked.directory, &SandboxDirectory::path);
    if (room == asked.platform.directories.end() || room->free_bytes < program.size + kSlack) {
      co_return no_directory(asked.platform, program.size);
    }
    // There is nobody who could digest it inside: its name is its digest, and it has to say what it
    // is. It gets its name only when it is whole.
    if (!program.check.empty()) {
      const auto runs = co_await run_check(program, placed.path);
      if (runs) {
        placed.how = "present";
        co_return placed;
      }
      if (is_final(runs.error())) co_return fail(runs.error());
    }
    if (options_.dry_run) {
      placed.how = "dry run";
      co_return placed;
    }
    placed.how = "upload";
    placed.sent = program.size;
    const TransferOptions transfer{.mode = kMode};
    const auto uploaded = co_await sandbox_.upload(program.path, placed.path, transfer);
    if (!uploaded) co_return fail(uploaded.error());
    const auto runs = co_await run_check(program, placed.path);
    if (!runs) co_return fail(runs.error());
    co_return placed;
  }

  Sandbox& sandbox_;
  BootstrapOptions options_;
  std::vector<std::string> notes_;
  // The program arrived, and did not do what it should: another way to bring it would not help.
  bool ran_wrong_ = false;
};

class BootstrapPayload final : public PayloadSource {
 public:
  BootstrapPayload(std::string usual, BootstrapOptions options)
      : usual_(usual.empty() ? nullptr : payload_file(std::move(usual))),
        options_(std::move(options)) {}

  asio::awaitable<Expected<std::string>> place(Sandbox& sandbox, std::string directory) override {
    std::optional<Error> refused;
    if (usual_) {
      auto there = co_await usual_->place(sandbox, std::move(directory));
      if (there || there.error().kind != ErrorKind::sandbox) co_return there;
      refused = there.error();
    }
    auto placed = co_await supervisor_for_sandbox(sandbox, options_);
    if (placed) co_return std::move(placed->path);
    // Why the usual one does not run is the end of the story.
    Error error = placed.error();
    if (refused && !error.cause) error = std::move(error).because(std::move(*refused));
    co_return fail(std::move(error));
  }

 private:
  std::shared_ptr<PayloadSource> usual_;
  BootstrapOptions options_;
};

}  // namespace

asio::awaitable<Expected<Platform>> probe_platform(Sandbox& sandbox, BootstrapOptions options) {
  Bootstrap bootstrap(sandbox, std::move(options));
  co_return co_await guarded(bootstrap.probe());
}

asio::awaitable<Expected<Placed>> supervisor_for_sandbox(Sandbox& sandbox,
                                                         BootstrapOptions options) {
  Bootstrap bootstrap(sandbox, std::move(options));
  co_return co_await guarded(bootstrap.supervisor());
}

asio::awaitable<Expected<Placed>> tool_for_sandbox(Sandbox& sandbox, ToolManifest manifest,
                                                   BootstrapOptions options) {
  Bootstrap bootstrap(sandbox, std::move(options));
  co_return co_await guarded(bootstrap.tool(std::move(manifest)));
}

asio::awaitable<Expected<Placed>> uv_for_sandbox(Sandbox& sandbox, BootstrapOptions options) {
  co_return co_await tool_for_sandbox(sandbox, uv_manifest(), std::move(options));
}

std::shared_ptr<PayloadSource> bootstrap_payload(std::string usual, BootstrapOptions options) {
  return std::make_shared<BootstrapPayload>(std::move(usual), std::move(options));
}

}  // namespace quietus
