#include "client/session_scene.hpp"

#include "harness/descendants.hpp"

namespace client_tests {
namespace {

Expected<std::unique_ptr<Transport>> local_transport() { return transport_from_name("local"); }

}  // namespace

std::string form_name(const testing::TestParamInfo<Form>& info) {
  return std::string(info.param.where == Where::fake ? "fake" : "local") + '_' +
         (info.param.ownership == Ownership::owned ? "owned" : "borrowed");
}

void SessionScene::SetUp() {
  std::shared_ptr<Sandbox> inner;
  if (local()) {
    inner = sandbox_over(std::move(*local_transport()));
  } else {
    inner = std::make_shared<ModelSandbox>(executor());
  }
  sandbox_ = std::make_shared<WatchedSandbox>(executor(), std::move(inner));
  options.directory = dir();
  options.harness = "demo";
  options.ownership = GetParam().ownership;
  options.payload = payload_file(harness::quietus_binary());
  options.stop_margin = 2s;
  options.warn = [this](std::string_view text) { warnings.emplace_back(text); };
}

void SessionScene::TearDown() {
  session_.reset();
  sandbox_.reset();
  options = {};
  collecting = {};
  Scene::TearDown();
}

Session& SessionScene::session() {
  if (!session_) session_ = std::make_unique<Session>(executor(), sandbox_, options);
  return *session_;
}

SessionCommand SessionScene::exits(int code) {
  // The model reads the last two words, the shell the first three.
  return {.argv = {"exit", std::to_string(code)}};
}

SessionCommand SessionScene::runs() const {
  if (!local()) return {.argv = {"forever"}};
  return {.argv = {"sh", "-c", "echo started; touch " + path("running") + "; exec sleep 1000"}};
}

SessionScene::Executing SessionScene::execute(SessionCommand command, Span timeout,
                                              Span close_timeout) {
  if (local() && command.argv.front() == "exit") {
    command.argv = {"sh", "-c", "echo said something; exit " + command.argv.back()};
  }
  Stage stage = [command]() -> asio::awaitable<Expected<SessionCommand>> { co_return command; };
  return execute(std::move(stage), timeout, close_timeout);
}

SessionScene::Executing SessionScene::execute(Stage stage, Span timeout, Span close_timeout) {
  Collect collect = [this]() -> asio::awaitable<Expected<Artifacts>> {
    sandbox_->log.emplace_back("collect");
    if (collecting) co_return co_await collecting();
    co_return Artifacts{std::string("artifacts")};
  };
  return start(session().execute(std::move(stage), std::move(collect), timeout, close_timeout));
}

bool SessionScene::runs_now() {
  return until(
      [&] { return count("launch") > 0 && (!local() || harness::exists(path("running"))); });
}

bool SessionScene::is_artifacts(const Expected<Artifacts>& result) const {
  return result && std::any_cast<std::string>(&*result) != nullptr &&
         std::any_cast<std::string>(*result) == "artifacts";
}

}  // namespace client_tests
