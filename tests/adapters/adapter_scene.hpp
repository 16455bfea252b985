// The fixture of the adapters' runs: a session of an adapter in a sandbox, as quietusctl makes one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/scene.hpp"

namespace adapter_tests {

using namespace quietus;
using namespace std::chrono_literals;
using client_tests::failed;
using client_tests::succeeded;
using harness::Words;

// A sandbox that is one of this machine, whose words can be looked at.
std::shared_ptr<Sandbox> local_sandbox();

struct Ran {
  Expected<Artifacts> executed = Artifacts{};
  std::optional<Receipt> receipt = {};
  Collected collected = {};
  Expected<HarnessResult> result = HarnessResult{};
  std::string log = {};  // of the harness
  Words progress = {};
};

class AdapterScene : public client_tests::Scene {
 protected:
  AdapterScene();
  void TearDown() override;

  [[nodiscard]] Sandbox& sandbox() { return *sandbox_; }
  [[nodiscard]] std::string work() const { return path("work"); }
  [[nodiscard]] std::string into() const { return path("into"); }
  [[nodiscard]] std::string session() const { return path("session"); }

  // A test failure where it cannot be read.
  static std::shared_ptr<const Adapter> adapter(std::string_view toml,
                                                std::string_view file = "test.toml");
  static std::shared_ptr<const Adapter> shipped(std::string_view name);

  // The run that the fixture has prepared: session, workdir and into are its own.
  [[nodiscard]] AdapterRun prepared();
  // One whole session, from staging to release; nothing of it may be left.
  Ran session_of(const Adapter& adapter, AdapterRun with, Span timeout = 60s, double bound = 120);
  // Only the first step.
  Expected<SessionCommand> stage(const Adapter& adapter, const AdapterRun& with);
  Collected fetch(std::vector<Artifact> artifacts);

  Words progress_;

 private:
  std::shared_ptr<Sandbox> sandbox_;
};

// The text of a file that was fetched; "" for none.
std::string fetched(const Collected& collected, std::string_view local);
// Every problem, one a line.
std::string problems(const Collected& collected);

}  // namespace adapter_tests
