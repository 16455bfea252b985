// A coding agent from the npm registry, driven by its adapter as a user would: installed, given a
// task, run against a model endpoint that is a script, and its result read; and killed at its
// deadline while what its tool has left behind lives on.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "adapters/adapter_scene.hpp"
#include "harness/beats.hpp"
#include "harness/json.hpp"

namespace adapter_tests {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// A variable of ours, which a local sandbox inherits, for the time of one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// model_endpoint.mjs, which ends when its standard input does.
class ModelEndpoint {
 public:
  ModelEndpoint(const std::string& script, std::string log) : log_(std::move(log)) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      execlp("node", "node", QUIETUS_SOURCE_FOLDER "/tests/adapters/model_endpoint.mjs",
             script.c_str(), log_.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    lifeline_ = in[1];
    std::string said;
    char one = 0;
    while (read(out[0], &one, 1) == 1 && one != '\n') said += one;
    close(out[0]);
    if (said.starts_with("port ")) port_ = said.substr(5);
  }
  ~ModelEndpoint() {
    close(lifeline_);
    waitpid(pid_, nullptr, 0);
  }
  ModelEndpoint(const ModelEndpoint&) = delete;
  ModelEndpoint& operator=(const ModelEndpoint&) = delete;

  [[nodiscard]] bool listens() const { return !port_.empty(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + port_ + "/v1"; }
  [[nodiscard]] std::vector<harness::Json> requests() const {
    std::vector<harness::Json> all;
    for (const std::string& line : harness::split(harness::read_file(log_), '\n')) {
      if (!line.empty()) all.push_back(harness::Json::parse(line));
    }
    return all;
  }

 private:
  std::string log_;
  pid_t pid_ = -1;
  int lifeline_ = -1;
  std::string port_;
};

class Agent : public AdapterScene {
 protected:
  // What is installed stays in the build directory; npm's own cache too.
  Agent()
      : home_("HOME", QUIETUS_AGENT_CACHE), cache_("npm_config_cache", QUIETUS_AGENT_CACHE "/npm") {
    fs::create_directories(QUIETUS_AGENT_CACHE);
  }
  void TearDown() override {
    endpoint.reset();
    AdapterScene::TearDown();
  }

  void listen(const std::string& script) {
    harness::write_file(path("script.json"), script);
    endpoint = std::make_unique<ModelEndpoint>(path("script.json"), path("requests.jsonl"));
    ASSERT_TRUE(endpoint->listens()) << "node did not start: is nodejs installed?";
  }

  AdapterRun task(const std::string& text, const std::string& model) {
    harness::write_file(path("task.md"), text);
    AdapterRun with = prepared();
    with.input = path("task.md");
    with.parameters = {{"model", model}, {"api_key", "a \"key\""}};
    with.environment = [this](std::string_view name) -> std::optional<std::string> {
      if (name == "OPENAI_BASE_URL") return endpoint->url();
      return std::nullopt;
    };
    return with;
  }

  std::unique_ptr<ModelEndpoint> endpoint;

 private:
  Variable home_;
  Variable cache_;
};

TEST_F(Agent, DoesItsTaskAndItsResultIsRead) {
  ASSERT_NO_FATAL_FAILURE(listen(R"({"writer": [
    {"tool": "write", "arguments": {"filePath": ")" +
                                 work() + R"(/hello.txt", "content": "hello from the agent\n"}},
    {"tool": "bash", "arguments": {"command": "tr a-z A-Z <hello.txt >loud.txt", "description": "shout"}},
    {"text": "I wrote \"hello.txt\" and made it loud."}]})"));
  const auto opencode = shipped("opencode");
  const Ran ran = session_of(*opencode, task("Write hello.txt.\n", "writer"), 5min, 600);
  ASSERT_TRUE(succeeded(ran.executed)) << ran.log;
  ASSERT_TRUE(ran.receipt);
  EXPECT_TRUE(ran.receipt->cleanup_confirmed);
  EXPECT_EQ(ran.receipt->return_code, 0);
  EXPECT_FALSE(ran.receipt->timed_out);
  ASSERT_TRUE(succeeded(ran.result)) << ran.log;
  EXPECT_EQ(ran.result->text, "I wrote \"hello.txt\" and made it loud.");
  EXPECT_EQ(harness::read_file(work() + "/loud.txt"), "HELLO FROM THE AGENT\n");
  EXPECT_THAT(problems(ran.collected), IsEmpty());
  EXPECT_THAT(fetched(ran.collected, into() + "/opencode/output.log"), HasSubstr("\"tool_use\""));
  EXPECT_GE(ran.collected.files.size(), 2u) << "its own log did not come";

  // The adapter's words have reached the endpoint.
  bool asked = false;
  for (const harness::Json& request : endpoint->requests()) {
    EXPECT_EQ(request.text("/model"), "writer");
    EXPECT_EQ(request.text("/authorization"), "Bearer a \"key\"");
    asked = asked || request.dump().find("Write hello.txt.") != std::string::npos;
  }
  EXPECT_TRUE(asked);

  // What is installed is not installed again.
  const auto staged = stage(*opencode, task("Again.\n", "writer"));
  EXPECT_TRUE(succeeded(staged));
  EXPECT_THAT(progress_, testing::Not(Contains(HasSubstr("installing"))));
  fs::remove_all(session());
}

TEST_F(Agent, IsEndedAtItsDeadlineWithWhatItsToolLeftBehind) {
  const auto opencode = shipped("opencode");
  // How long the agent needs to come to its tool depends on the machine. A run that was ended
  // before proves nothing, and is made again with more time.
  for (const Span deadline : {Span(15s), Span(45s), Span(150s)}) {
    const std::string name = "beats-" + std::to_string(deadline / Span(1s));
    const harness::Beats beats(path(name));
    ASSERT_NO_FATAL_FAILURE(listen(
        R"({"lingerer": [
      {"tool": "bash", "arguments": {"description": "serve", "command": ")" +
        harness::actor_binary() + " beats:" + beats.path() +
        R"( bound:600000 daemon '[' ignore:TERM,HUP,INT beat:1 ']' </dev/null >/dev/null 2>&1"}},
      {"hang": true}]})"));
    const Ran ran = session_of(*opencode, task("Start the server.\n", "lingerer"), deadline, 600);
    ASSERT_TRUE(ran.receipt) << ran.executed.error().text();
    EXPECT_TRUE(ran.receipt->cleanup_confirmed);
    EXPECT_TRUE(ran.receipt->timed_out);
    endpoint.reset();
    if (beats.count(1) == 0) {
      fs::remove_all(into());
      continue;
    }
    // It lived, through its shell's end and up to the deadline, and it does not any more.
    EXPECT_TRUE(beats.gone(1));
    EXPECT_TRUE(failed(ran.result, ErrorKind::sandbox, "no line of JSON such as"));
    EXPECT_THAT(fetched(ran.collected, into() + "/opencode/output.log"), HasSubstr("\"tool_use\""));
    return;
  }
  FAIL() << "the agent's tool was never seen to run";
}

TEST_F(Agent, WhoseEndpointRefusesHasNoResult) {
  ASSERT_NO_FATAL_FAILURE(listen("{}"));
  const Ran ran = session_of(*shipped("opencode"), task("Do it.\n", "nobody"), 5min, 600);
  ASSERT_TRUE(ran.receipt);
  EXPECT_TRUE(ran.receipt->cleanup_confirmed);
  EXPECT_TRUE(failed(ran.result, ErrorKind::sandbox, "the harness left no result"));
  EXPECT_THAT(ran.log, HasSubstr("the script has no answer 0 for 'nobody'"));
}

}  // namespace
}  // namespace adapter_tests
