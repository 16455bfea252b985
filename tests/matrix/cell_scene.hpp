// The fixture of everything that runs a session over a real transport: a sandbox, a worker in it
// with a victim that is hard to end (a daemon in a session of its own that ignores TERM), and the
// look around afterwards: nothing may be left, neither here nor there.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/scene.hpp"
#include "harness/beats.hpp"
#include "matrix/place.hpp"
#include "matrix/table.hpp"

namespace matrix {

using namespace quietus;
using namespace std::chrono_literals;
using client_tests::Pending;
using harness::Words;
using harness::operator+;

inline std::string column_name(const testing::TestParamInfo<Column>& info) {
  return word(info.param);
}

class CellScene : public client_tests::Scene {
 protected:
  using Executing = std::shared_ptr<Pending<Expected<Artifacts>>>;

  void TearDown() override;

  // Opens the sandbox and makes the session. Throws where that fails.
  void enter(Row row, Column column);
  // The words of a worker: it writes its artifact, shows its victim, and then does what is said.
  [[nodiscard]] Words worker(const Words& then) const;
  // Runs it, and returns once the victim has been seen to be alive.
  void run_until_alive(const Words& then, Span timeout = 240s);
  // The worker may go on: it waits for this by go().
  [[nodiscard]] std::string go() const { return "await-file:" + path("go"); }
  void let_go() const { harness::write_file(path("go"), ""); }

  // What execute() says and the receipt, the artifacts, and then the end of it all.
  // What it must be now that it has ended: where Slurm killed the command first, a half that lived
  // an instant longer has written how it ended.
  Want as_it_came(const Want& want);
  void expect_verdict(const Want& want);
  void expect_receipt(const Want& want);
  void expect_artifacts();
  void close_and_expect_nothing_left(const Want& want);

  template <class T>
  T& end_of(const std::shared_ptr<Pending<T>>& pending) {
    if (!until([&] { return pending->done(); }, 120) || pending->threw()) {
      throw std::runtime_error("it did not end, or threw");
    }
    return pending->result();
  }

  // By the numbers that they have here.
  // Children of ours with this word on their command line.
  [[nodiscard]] static std::vector<pid_t> clients_of(std::string_view word);
  // The exec client of the launch.
  [[nodiscard]] pid_t client() const;
  // The half that is the parent of the worker.
  [[nodiscard]] pid_t supervisor() const;
  // A process in the sandbox that has nothing to do with the session; it beats in slot 2.
  void start_bystander();
  void end_bystander();

  [[nodiscard]] std::string outside(const std::string& inside) const;
  [[nodiscard]] Sandbox& sandbox() { return *opened_.sandbox; }
  [[nodiscard]] Session& session() { return *session_; }
  [[nodiscard]] const Place& place() const { return place_; }

  SessionOptions options;  // may be changed before enter()
  Executing executing;
  std::unique_ptr<harness::Beats> beats;
  std::shared_ptr<Pending<ExecResult>> bystander;

 private:
  [[nodiscard]] testing::AssertionResult nothing_left(bool keeps_evidence);

  // Processes of the worker's program with this word on their command line.
  [[nodiscard]] std::vector<pid_t> workers(std::string_view word) const;

  Place place_;
  std::string worker_;  // its program
  Column column_ = Column::local;
  OpenedSandbox opened_;
  std::unique_ptr<Session> session_;
  std::string artifacts_inside_;
  std::set<std::string> processes_before_;
  std::set<std::string> sandboxes_before_;
  std::set<std::string> groups_before_;
  std::set<std::string> files_before_;
  std::vector<std::string> warnings_;
};

}  // namespace matrix
