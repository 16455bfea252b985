// What an adapter file describes, done in a sandbox.
#include <algorithm>
#include <filesystem>

#include "client/adapters/lines.hpp"
#include "client/adapters/spec.hpp"
#include "client/src/local_file.hpp"
#include "client/src/texts.hpp"
#include "contract/decimal.hpp"
#include "contract/session_files.hpp"
#include "quietus/glob.hpp"

namespace quietus {
namespace adapters {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t kMostInputText = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostAdapterBytes = std::uint64_t{1} << 20;
// A result is looked for at the end of a log that may be this long.
constexpr std::uint64_t kMostLog = std::uint64_t{1} << 30;
constexpr Span kCheckTime = 60s;

void tell(const AdapterRun& run, const std::string& line) {
  if (run.progress) run.progress(line);
}

std::string input_path(const AdapterRun& run) {
  return run.session + "/input/" + fs::path(run.input).filename().string();
}

asio::awaitable<Expected<std::string>> ask_home(Sandbox& sandbox) {
  ExecRequest request{.shell = "printf %s \"$HOME\"", .deadline = kCheckTime};
  ExecResult result = co_await sandbox.exec(std::move(request));
  if (result.error) {
    co_return fail(Error{result.error->kind, "cannot ask the sandbox for its HOME", {}}.because(
        *result.error));
  }
  if (!result.out.starts_with('/')) {
    co_return fail(ErrorKind::sandbox,
                   "the sandbox has no HOME, which the adapter asks for as {home}",
                   "set HOME in the sandbox");
  }
  co_return std::move(result.out);
}

enum class Phase { stage, collect };

asio::awaitable<Expected<Values>> values_of(const AdapterSpec& spec, Sandbox& sandbox,
                                            const AdapterRun& run, Phase phase) {
  Values values{.environment = run.environment};
  if (!run.workdir.empty()) values.workdir = run.workdir;
  if (!run.session.empty()) values.session = run.session;
  if (!run.input.empty()) values.input = input_path(run);
  const auto needs = [&](Source source) {
    return spec.collect_uses(source) || defaults_use(spec, run, source) ||
           (phase == Phase::stage && spec.stage_uses(source));
  };
  if (!run.input.empty() && needs(Source::input_text)) {
    auto text = read_local_file(run.input, kMostInputText);
    if (!text) co_return fail(std::move(text).error());
    values.input_text = *std::move(text);
  }
  if (needs(Source::home)) {
    auto home = co_await ask_home(sandbox);
    if (!home) co_return fail(std::move(home).error());
    values.home = *std::move(home);
  }
  const auto resolved = resolve_parameters(spec, run, values);
  if (!resolved) co_return fail(resolved.error());
  co_return values;
}

Expected<Artifact> artifact_of(const ArtifactSpec& spec, const Values& values) {
  auto pattern = expand(spec.glob, values, glob_literal);
  if (!pattern) return fail(std::move(pattern).error());
  if (!pattern->starts_with('/')) {
    if (!values.workdir) return fail(no_workdir(*pattern));
    *pattern = glob_literal(*values.workdir) + '/' + *pattern;
  }
  const auto glob = Glob::parse(*pattern);
  if (!glob) return fail(ErrorKind::input, "the artifact '" + *pattern + "' " + glob.error());
  Artifact artifact = spec.limits;
  artifact.glob = *std::move(pattern);
  return artifact;
}

Expected<std::vector<Artifact>> artifacts_of(const AdapterSpec& spec, const Values& values) {
  std::vector<Artifact> artifacts;
  for (const ArtifactSpec& one : spec.artifacts) {
    auto artifact = artifact_of(one, values);
    if (!artifact) return fail(std::move(artifact).error());
    artifacts.push_back(*std::move(artifact));
  }
  return artifacts;
}

Expected<ExecRequest> request_of(const CommandSpec& command, const InstallSpec& step,
                                 const Values& values, Span deadline) {
  ExecRequest request{.deadline = deadline};
  Error wrong;
  bool failed = false;
  const auto into = [&](const Text& text, std::string& target) {
    auto expanded = expand(text, values);
    if (expanded) {
      target = *std::move(expanded);
    } else if (!failed) {
      failed = true;
      wrong = std::move(expanded).error();
    }
  };
  for (const Text& word : command.argv) into(word, request.argv.emplace_back());
  if (command.shell) into(*command.shell, request.shell);
  if (step.cwd) into(*step.cwd, request.cwd);
  for (const auto& [name, text] : step.environment) {
    into(text, request.environment.emplace_back(name, "").second);
  }
  if (failed) return fail(std::move(wrong));
  return request;
}

class FileAdapter final : public Adapter {
 public:
  explicit FileAdapter(AdapterSpec spec) : spec_(std::move(spec)) {}

  [[nodiscard]] const std::string& name() const override { return spec_.name; }
  [[nodiscard]] const std::string& description() const override { return spec_.description; }
  [[nodiscard]] const std::vector<AdapterParameter>& parameters() const override {
    return spec_.parameters;
  }

  asio::awaitable<Expected<SessionCommand>> stage(Sandbox& sandbox,
                                                  const AdapterRun& run) const override {
    const auto values = co_await values_of(spec_, sandbox, run, Phase::stage);
    if (!values) co_return fail(values.error());
    // What can be known to be wrong is said before anything is installed.
    auto command = build_command(spec_, run, *values);
    if (!command) co_return command;
    const auto artifacts = artifacts_of(spec_, *values);
    if (!artifacts) co_return fail(artifacts.error());
    for (std::size_t place = 0; place < spec_.install.size(); ++place) {
      const auto installed = co_await install(sandbox, run, *values, place);
      if (!installed) co_return fail(installed.error());
    }
    const auto staged = co_await stage_files(sandbox, run, *values);
    if (!staged) co_return fail(staged.error());
    co_return command;
  }

  asio::awaitable<Collected> collect(Sandbox& sandbox, const AdapterRun& run) const override {
    Collected collected;
    const auto values = co_await values_of(spec_, sandbox, run, Phase::collect);
    if (!values) {
      collected.problems.push_back(values.error());
      co_return collected;
    }
    if (!run.into.empty() && !spec_.artifacts.empty()) {
      const auto artifacts = artifacts_of(spec_, *values);
      if (artifacts) {
        collected = co_await fetch_artifacts(sandbox, *artifacts, run.into, run.progress);
      } else {
        collected.problems.push_back(artifacts.error());
      }
    }
    if (spec_.result.format != ResultFormat::exit_code) {
      co_await fetch_result(sandbox, run, *values, collected);
    }
    co_return collected;
  }

  [[nodiscard]] Expected<HarnessResult> read_result(const Collected& collected,
                                                    const Receipt& receipt) const override {
    const ResultSpec& result = spec_.result;
    if (result.format == ResultFormat::exit_code) return read_exit_code(receipt);
    if (!collected.result_bytes) {
      Error error{ErrorKind::sandbox, "the harness left no result", {}};
      if (collected.result_error) error = std::move(error).because(*collected.result_error);
      return fail(std::move(error));
    }
    const std::string_view bytes = *collected.result_bytes;
    switch (result.format) {
      case ResultFormat::json: return read_json(bytes, result.value);
      case ResultFormat::json_lines: return read_json_lines(bytes, result.value, result.conditions);
      default: return read_text(bytes);
    }
  }

 private:
  [[nodiscard]] std::string step_name(std::size_t place) const {
    return "the install step " + decimal(place + 1) + " of the adapter '" + spec_.name + "'";
  }

  // Whether the check of a step is content.
  asio::awaitable<Expected<bool>> check(Sandbox& sandbox, const Values& values,
                                        std::size_t place) const {
    const InstallSpec& step = spec_.install[place];
    auto request = request_of(step.check, step, values, kCheckTime);
    if (!request) co_return fail(std::move(request).error());
    // The directory that it looks into may be one that the step makes.
    ExecResult result = co_await sandbox.exec(*std::move(request));
    if (result.return_code && !result.error) co_return result.return_code == 0;
    if (!result.error) {
      co_return fail(ErrorKind::transport, "the check of " + step_name(place) + " gave no answer");
    }
    co_return fail(
        Error{result.error->kind, "the check of " + step_name(place) + " did not run", {}}.because(
            *result.error));
  }

  asio::awaitable<Expected<void>> install(Sandbox& sandbox, const AdapterRun& run,
                                          const Values& values, std::size_t place) const {
    const InstallSpec& step = spec_.install[place];
    const auto before = co_await check(sandbox, values, place);
    if (!before) co_return fail(before.error());
    if (*before) co_return Expected<void>{};
    auto request = request_of(step.run, step, values, step.timeout);
    if (!request) co_return fail(std::move(request).error());
    tell(run,
         "installing (step " + decimal(place + 1) + " of " + decimal(spec_.install.size()) + ")");
    ExecResult result = co_await sandbox.exec(*std::move(request));
    if (result.error) {
      co_return fail(Error{result.error->kind, step_name(place) + " did not end well", {}}.because(
          *result.error));
    }
    const std::string said = last_line(result.err.empty() ? result.out : result.err);
    const std::string words = said.empty() ? std::string() : ": " + said;
    if (result.return_code != 0) {
      const std::string code = result.return_code ? decimal(*result.return_code) : "unknown";
      co_return fail(ErrorKind::sandbox, step_name(place) + " failed (exit " + code + ")" + words,
                     "run its command in the sandbox by hand");
    }
    const auto after = co_await check(sandbox, values, place);
    if (!after) co_return fail(after.error());
    if (*after) co_return Expected<void>{};
    co_return fail(ErrorKind::sandbox,
                   step_name(place) + " ended with 0, and its check still fails" + words,
                   "look at the step's check");
  }

  asio::awaitable<Expected<void>> stage_files(Sandbox& sandbox, const AdapterRun& run,
                                              const Values& values) const {
    if (!run.input.empty()) {
      TransferOptions options{.mode = 0600, .private_parents = true};
      const auto sent = co_await sandbox.upload(run.input, input_path(run), std::move(options));
      if (!sent) co_return fail(sent.error());
    }
    for (const FileSpec& file : spec_.files) {
      const auto to = inside_path(file.to, values);
      if (!to) co_return fail(to.error());
      tell(run, "staging " + *to);
      TransferOptions options{.mode = file.mode};
      Expected<void> sent;
      if (file.text) {
        auto text = expand(*file.text, values);
        if (!text) co_return fail(std::move(text).error());
        sent = co_await upload_text(sandbox, *std::move(text), *to, std::move(options));
      } else {
        auto from = expand(*file.from, values);
        if (!from) co_return fail(std::move(from).error());
        std::string local = (fs::path(spec_.folder) / *from).string();
        sent = co_await sandbox.upload(std::move(local), *to, std::move(options));
      }
      if (!sent) co_return sent;
    }
    co_return Expected<void>{};
  }

  asio::awaitable<void> fetch_result(Sandbox& sandbox, const AdapterRun& run, const Values& values,
                                     Collected& collected) const {
    const ResultSpec& result = spec_.result;
    Expected<std::string> path = run.session + '/' + kSessionFiles.output;
    if (result.file) path = inside_path(*result.file, values);
    if (!path) {
      collected.result_error = path.error();
      co_return;
    }
    Expected<std::string> bytes;
    if (result.format == ResultFormat::json) {
      bytes = co_await download_text(sandbox, *path, result.most_bytes);
    } else {
      bytes = co_await download_end(sandbox, *path, kMostLog, result.most_bytes);
    }
    if (bytes) {
      collected.result_bytes = *std::move(bytes);
    } else {
      collected.result_error = std::move(bytes).error();
    }
  }

  AdapterSpec spec_;
};

}  // namespace
}  // namespace adapters

Expected<std::shared_ptr<const Adapter>> parse_adapter(std::string_view toml,
                                                       std::string_view file) {
  auto spec = adapters::parse_spec(toml, file);
  if (!spec) return fail(std::move(spec).error());
  return std::make_shared<const adapters::FileAdapter>(*std::move(spec));
}

Expected<std::shared_ptr<const Adapter>> load_adapter(const std::string& file) {
  const auto toml = read_local_file(file, adapters::kMostAdapterBytes);
  if (!toml) return fail(toml.error());
  return parse_adapter(*toml, file);
}

}  // namespace quietus
