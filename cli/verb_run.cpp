// One session with somebody watching.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/find_adapter.hpp"
#include "cli/interruptible.hpp"
#include "cli/many_sessions.hpp"
#include "cli/task.hpp"
#include "cli/verbs.hpp"
#include "contract/exit_code.hpp"

namespace quietus::cli {
namespace {

void print_file(Screen& screen, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char buffer[65536];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    screen.out({buffer, static_cast<std::size_t>(file.gcount())});
  }
}

using AdapterPointer = std::shared_ptr<const Adapter>;

AdapterRun adapter_run_of(const CommandLine& line) {
  AdapterRun run{.workdir = line.workdir, .input = line.input, .arguments = line.words};
  for (const auto& [name, value] : line.parameters) run.parameters[name] = value;
  run.environment = [](std::string_view name) -> std::optional<std::string> {
    const char* const value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
  if (!line.into.empty()) run.into = std::filesystem::absolute(line.into).lexically_normal();
  return run;
}

SessionPlan plan_of(const CommandLine& line, const Services& services,
                    const AdapterPointer& adapter, std::string sandbox) {
  SessionPlan plan{.sandbox = std::move(sandbox),
                   .environment = line.environment,
                   .workdir = line.workdir,
                   .globs = line.globs,
                   .into = line.into,
                   .timeout = services.settings.timeout,
                   .kept_output = line.json ? kOutputInJson : 0};
  if (adapter) {
    plan.adapter = adapter;
    plan.adapter_run = adapter_run_of(line);
  } else {
    plan.argv = line.words;
  }
  return plan;
}

int several(const CommandLine& line, const Services& services, const AdapterPointer& adapter,
            Screen& screen) {
  std::vector<Job> jobs;
  for (const std::string& sandbox : services.settings.sandboxes) {
    Job job{.name = sandbox, .plan = plan_of(line, services, adapter, sandbox)};
    // Each has a place of its own, or the artifacts of one would replace those of another.
    const std::string own = '/' + std::to_string(jobs.size() + 1);
    if (!job.plan.into.empty()) job.plan.into += own;
    if (!job.plan.adapter_run.into.empty()) job.plan.adapter_run.into += own;
    jobs.push_back(std::move(job));
  }
  return run_many(std::move(jobs), services, screen);
}

int one(const CommandLine& line, const Services& services, const AdapterPointer& adapter,
        Screen& screen) {
  std::function<void()> end_now;
  SessionHooks hooks;
  hooks.warn = [&](std::string_view text) { screen.warn(text); };
  hooks.progress = [&](std::string_view text) { screen.news(text); };
  bool has_ended = false;
  hooks.can_end_now = [&](std::function<void()> how) {
    has_ended = !how;
    end_now = std::move(how);
  };
  if (line.follow) {
    hooks.output = [&](std::string_view bytes) { screen.out(bytes); };
  } else if (!line.json) {
    hooks.log = [&](const std::string& path) { print_file(screen, path); };
  }
  if (screen.has_status_line()) {
    hooks.view = [&](const SessionView& view) { screen.status(view); };
  }
  SessionPlan plan = plan_of(line, services, adapter, services.settings.sandboxes.front());
  const auto work = [&]() -> asio::awaitable<int> {
    co_await asio::this_coro::throw_if_cancelled(false);
    const SessionResult result = co_await run_session(services, std::move(plan), std::move(hooks));
    screen.clear_status();
    if (screen.is_json()) {
      nlohmann::json json = session_json(result);
      json["output"] = result.output;
      screen.json(json);
    } else if (result.harness) {
      screen.out(result.harness->text.value_or(result.harness->json) + '\n');
    }
    tell_end(screen, result);
    co_return result.exit_code;
  };
  const auto on_interrupt = [&](int count) {
    if (count == 1) screen.news("stopping; once more to skip the grace");
    if (count != 2 || !end_now) return count == 2;
    screen.news("without the grace; once more to leave at once");
    end_now();
    return true;
  };
  // Nobody follows any more; once the command has ended, its artifacts come all the same.
  return run_interruptible(screen, work(), on_interrupt, [&] { return line.follow && !has_ended; });
}

}  // namespace

int run_verb(const CommandLine& line, const Services& services, Screen& screen) {
  AdapterPointer adapter;
  if (!line.adapter.empty()) {
    auto found = find_adapter(line.adapter, "/proc/self/exe");
    if (!found) {
      screen.error("argument --adapter: " + found.error().text());
      return kExitUsage;
    }
    adapter = std::move(*found);
  }
  if (services.settings.sandboxes.size() > 1) return several(line, services, adapter, screen);
  return one(line, services, adapter, screen);
}

}  // namespace quietus::cli
