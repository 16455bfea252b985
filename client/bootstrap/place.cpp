// Puts a program into a sandbox: as few commands inside as possible, since each costs a client's
// start. With a shell: one that asks, one that brings the program and runs it.
#include <algorithm>

#include "client/bootstrap/cache_files.hpp"
#include "client/bootstrap/inquiry.hpp"
#include "client/bootstrap/program_check.hpp"
#include "client/bootstrap/scripts.hpp"
#include "client/bootstrap/words.hpp"
#include "client/src/random_token.hpp"
#include "client/src/task.hpp"
#include "client/src/words.hpp"
#include "quietus/bootstrap.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr Span kCheckTime = 120s;

class Bootstrap {
 public:
  Bootstrap(Sandbox& sandbox, BootstrapOptions options)
      : sandbox_(sandbox), options_(std::move(options)), inquiry_(sandbox_, options_, notes_) {}

  asio::awaitable<Expected<Platform>> probe() {
    Question question = question_about({});
    auto asked = co_await inquiry_.ask(std::move(question));
    if (!asked) co_return fail(asked.error());
    co_return std::move(asked->platform);
  }

  asio::awaitable<Expected<Placed>> supervisor() {
    auto there = co_await mounted();
    if (there) co_return std::move(*there);
    const std::vector<LocalProgram>& builds = options_.supervisors;
    Question question = question_about("quietus");
    for (const LocalProgram& build : builds) {
      question.folders.push_back(folder_of(build.sha256));
      question.bytes = std::max(question.bytes, build.size);
    }
    auto asked = co_await inquiry_.ask(std::move(question));
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
    Question first = question_about(manifest.name);
    auto asked = co_await inquiry_.ask(std::move(first));
    if (!asked) co_return fail(asked.error());
    auto reused = co_await own_tool(options_.host_program, manifest, asked->platform, notes_);
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
    program.accepts = expected_output(manifest);
    // Its digest is known only now.
    if (asked->has_shell) {
      Question question = question_about(program.name);
      question.folders.push_back(folder_of(program.sha256));
      question.bytes = program.size;
      auto again = co_await inquiry_.ask(std::move(question));
      if (!again) co_return fail(again.error());
      asked = std::move(again);
    }
    auto placed = co_await place(program, std::move(*asked));
    if (placed) placed->unverified = !fetched->entry.verified;
    co_return placed;
  }

 private:
  [[nodiscard]] Question question_about(std::string name) const {
    return {.name = std::move(name), .directories = options_.directories};
  }

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
    auto platform = co_await inquiry_.probe_by(path, directory);
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
    ExecRequest request{.argv = std::move(argv), .deadline = kCheckTime, .output_cap = kAnswerCap};
    const ExecResult result = co_await sandbox_.exec(std::move(request));
    if (result.error) co_return fail(*result.error);
    const Expected<void> judged = judge(program, path, result.out, result.err, result.return_code);
    ran_wrong_ = !judged;
    co_return judged;
  }

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
      Question question{
          .name = program.name, .bytes = program.size, .directories = std::move(rest)};
      auto again = co_await inquiry_.ask(std::move(question));
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
    const TransferOptions transfer{.mode = kPlacedMode};
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
                        .output_cap = kAnswerCap};
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
    const TransferOptions transfer{.mode = kPlacedMode};
    const auto uploaded = co_await sandbox_.upload(program.path, placed.path, transfer);
    if (!uploaded) co_return fail(uploaded.error());
    const auto runs = co_await run_check(program, placed.path);
    if (!runs) co_return fail(runs.error());
    co_return placed;
  }

  Sandbox& sandbox_;
  BootstrapOptions options_;
  std::vector<std::string> notes_;
  Inquiry inquiry_;
  // The program arrived, and did not do what it should: another way to bring it would not help.
  bool ran_wrong_ = false;
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

}  // namespace quietus
