#include "adapters/adapter_scene.hpp"

#include <filesystem>

namespace adapter_tests {

std::shared_ptr<Sandbox> local_sandbox() { return sandbox_over(*transport_from_name("local")); }

AdapterScene::AdapterScene() : sandbox_(local_sandbox()) {
  std::filesystem::create_directory(work());
}

void AdapterScene::TearDown() {
  sandbox_.reset();
  Scene::TearDown();
}

std::shared_ptr<const Adapter> AdapterScene::adapter(std::string_view toml, std::string_view file) {
  auto parsed = parse_adapter(toml, file);
  if (!parsed) throw std::runtime_error(parsed.error().text());
  return *parsed;
}

std::shared_ptr<const Adapter> AdapterScene::shipped(std::string_view name) {
  auto loaded = load_adapter(QUIETUS_SOURCE_FOLDER "/adapters/" + std::string(name) + ".toml");
  if (!loaded) throw std::runtime_error(loaded.error().text());
  return *loaded;
}

AdapterRun AdapterScene::prepared() {
  return {.session = session(),
          .workdir = work(),
          .into = into(),
          .progress = [this](std::string_view line) { progress_.emplace_back(line); }};
}

Ran AdapterScene::session_of(const Adapter& adapter, AdapterRun with, Span timeout, double bound) {
  Ran ran;
  progress_.clear();
  SessionOptions options{.directory = with.session,
                         .workdir = with.workdir,
                         .harness = adapter.name(),
                         .payload = payload_file(harness::quietus_binary())};
  Session session(executor(), sandbox_, options);
  Stage stage = [&] { return adapter.stage(*sandbox_, with); };
  Collect collect = [&]() -> asio::awaitable<Expected<Artifacts>> {
    ran.collected = co_await adapter.collect(*sandbox_, with);
    ran.log = co_await session.read_output_log();
    co_return Artifacts{};
  };
  ran.executed = run(session.execute(stage, collect, timeout, 20s), bound);
  ran.receipt = session.cleanup();
  ran.result = adapter.read_result(ran.collected, ran.receipt.value_or(Receipt{}));
  ran.progress = progress_;
  EXPECT_TRUE(succeeded(run(session.close(20s))));
  EXPECT_FALSE(harness::exists(with.session));
  return ran;
}

Expected<SessionCommand> AdapterScene::stage(const Adapter& adapter, const AdapterRun& with) {
  progress_.clear();
  return run(adapter.stage(*sandbox_, with));
}

Collected AdapterScene::fetch(std::vector<Artifact> artifacts) {
  return run(fetch_artifacts(*sandbox_, std::move(artifacts), into()));
}

std::string fetched(const Collected& collected, std::string_view local) {
  for (const CollectedFile& file : collected.files) {
    if (file.local == local) return harness::read_file(file.local);
  }
  return {};
}

std::string problems(const Collected& collected) {
  std::string text;
  for (const Error& problem : collected.problems) text += problem.text() + '\n';
  return text;
}

}  // namespace adapter_tests
