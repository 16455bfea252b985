#include "matrix/cell_scene.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "harness/descendants.hpp"

namespace matrix {
namespace {

namespace fs = std::filesystem;

constexpr int kVictim = 1;
constexpr int kBystander = 2;
// A busy machine may be slow; what is right in the end is right.
constexpr double kPatience = 60;
constexpr auto kCloseTime = 30s;

std::string text_of(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += "\n  " + name;
  return text;
}

std::set<std::string> without(std::set<std::string> names, const std::set<std::string>& those) {
  std::erase_if(names, [&](const std::string& name) { return those.contains(name); });
  return names;
}

std::string command_line(pid_t pid) {
  std::string text = harness::read_file("/proc/" + std::to_string(pid) + "/cmdline");
  std::ranges::replace(text, '\0', ' ');
  return text;
}

}  // namespace

void CellScene::enter(Row row, Column column) {
  column_ = column;
  processes_before_ = all_processes();
  sandboxes_before_ = all_sandboxes(column);
  groups_before_ = all_groups();
  place_ = place_of(row, column);
  // So that the control socket has a name that can be looked for.
  place_.options.token = fs::path(path("")).parent_path().filename().string().substr(6) + "matrix";
  beats = std::make_unique<harness::Beats>(path("beats"));
  // Whatever is in the scene's directory is seen inside as well.
  worker_ = path("worker");
  fs::copy_file(harness::actor_binary(), worker_);
  const std::string payload = harness::quietus_binary();
  auto opened = run(open_sandbox(place_.name, payload, place_.options), kPatience);
  if (!opened) throw std::runtime_error(opened.error().text());
  opened_ = std::move(*opened);
  if (place_.root.empty()) place_.root = root_of_container("quietus-" + place_.options.token);
  files_before_ = names_in(place_.root + "/tmp");

  const std::string parent = place_.own_files ? "/tmp" : path("");
  artifacts_inside_ = parent + "/artifacts-of-worker";
  options.directory = fresh_session_directory(parent);
  options.harness = "demo";
  options.ownership = row == Row::owned ? Ownership::owned : opened_.ownership;
  options.payload = payload_file(payload);
  options.warn = [this](std::string_view text) { warnings_.emplace_back(text); };
  session_ = std::make_unique<Session>(executor(), opened_.sandbox, options);
}

Words CellScene::worker(const Words& then) const {
  const Words words = {worker_,
                       "bound:280000",
                       "beats:" + beats->path(),
                       "mkdir:" + artifacts_inside_,
                       "write:" + artifacts_inside_ + "/result:what the worker made",
                       "say:hello",
                       "daemon",
                       "[",
                       "ignore:TERM",
                       "beat:" + std::to_string(kVictim),
                       "]"};
  return words + then;
}

void CellScene::run_until_alive(const Words& then, Span timeout) {
  const SessionCommand command{.argv = worker(then)};
  Stage stage = [command]() -> asio::awaitable<Expected<SessionCommand>> { co_return command; };
  Collect collect = [this]() -> asio::awaitable<Expected<Artifacts>> {
    TransferOptions limits{.most_bytes = 1 << 20};
    auto got = co_await opened_.sandbox->download(artifacts_inside_, path("artifacts"), limits);
    if (!got) co_return fail(got.error());
    co_return Artifacts{std::string("fetched")};
  };
  executing = start(session_->execute(std::move(stage), std::move(collect), timeout, kCloseTime));
  const auto beating = [&] { return executing->done() || beats->count(kVictim) > 1; };
  if (!until(beating, kPatience) || beats->count(kVictim) < 2) {
    const bool failed = executing->done() && !executing->threw() && !executing->result();
    throw std::runtime_error("the victim never lived: " +
                             (failed ? executing->result().error().text() : "no error"));
  }
}

Want CellScene::as_it_came(const Want& want) {
  (void)end_of(executing);
  const std::optional<Receipt>& receipt = session_->cleanup();
  if (want.killed_by_slurm && receipt && receipt->return_code == -SIGKILL) {
    return {.code = -SIGKILL, .execute = want.execute};
  }
  return want;
}

void CellScene::expect_verdict(const Want& want) {
  const Expected<Artifacts>& result = end_of(executing);
  if (want.execute) {
    EXPECT_TRUE(client_tests::failed(result, *want.execute));
  } else if (want.confirmed) {
    EXPECT_TRUE(client_tests::succeeded(result));
  }
  expect_receipt(want);
}

void CellScene::expect_receipt(const Want& want) {
  (void)end_of(executing);
  const std::optional<Receipt>& receipt = session_->cleanup();
  ASSERT_EQ(receipt.has_value(), want.confirmed);
  if (!receipt) return;
  EXPECT_TRUE(receipt->cleanup_confirmed);
  EXPECT_EQ(receipt->return_code, want.code);
  EXPECT_EQ(receipt->timed_out, want.timed_out);
  EXPECT_EQ(receipt->error.has_value(), want.error) << receipt->error.value_or("");
}

void CellScene::expect_artifacts() {
  EXPECT_EQ(harness::read_file(path("artifacts/result")), "what the worker made");
  EXPECT_FALSE(session_->capture_error().has_value());
}

std::string CellScene::outside(const std::string& inside) const {
  return (place_.root == "/" ? "" : place_.root) + inside;
}

testing::AssertionResult CellScene::nothing_left(bool keeps_evidence) {
  const auto processes = without(all_processes(), processes_before_);
  if (!processes.empty()) {
    std::string told;
    for (const std::string& one : processes)
      told += "\n  " + harness::process_row(stoi(one)).text();
    return testing::AssertionFailure() << "processes are left:" << told;
  }
  const auto sandboxes = without(all_sandboxes(column_), sandboxes_before_);
  if (!sandboxes.empty()) {
    return testing::AssertionFailure() << "sandboxes are left:" << text_of(sandboxes);
  }
  const auto groups = without(all_groups(), groups_before_);
  if (!groups.empty() && !keeps_evidence) {
    return testing::AssertionFailure() << "cgroups are left:" << text_of(groups);
  }
  const std::string socket = "/tmp/quietus-ssh-" + place_.options.token.substr(0, 16);
  if (harness::exists(socket)) return testing::AssertionFailure() << socket << " is left";
  std::set<std::string> files;
  const std::string session = fs::path(options.directory).filename().string();
  for (const std::string& directory :
       {outside(fs::path(options.directory).parent_path().string()), path("")}) {
    for (const std::string& name : names_in(directory)) {
      const bool ours = name.starts_with("quietus-") || name.starts_with(".quietus-");
      const bool before = directory != path("") && files_before_.contains(name);
      if (ours && !before && !(keeps_evidence && name == session)) files.insert(name);
    }
  }
  if (!files.empty()) return testing::AssertionFailure() << "files are left:" << text_of(files);
  return testing::AssertionSuccess();
}

void CellScene::close_and_expect_nothing_left(const Want& want) {
  const bool lives_on = options.ownership == Ownership::borrowed;
  const bool ends = opened_.ownership == Ownership::owned;
  // While it can still be asked.
  const std::string artifacts = outside(artifacts_inside_);
  const bool made = harness::exists(artifacts);
  const auto closed = run(session_->close(kCloseTime), 2 * kPatience);
  EXPECT_TRUE(client_tests::succeeded(closed));
  EXPECT_TRUE(session_->closed());
  EXPECT_TRUE(beats->gone(kVictim)) << "the victim lives, or never has";
  EXPECT_TRUE(made) << "the worker has made nothing";
  const bool kept = harness::exists(outside(options.directory));
  EXPECT_EQ(kept, want.keeps_evidence && lives_on) << options.directory;
  if (bystander) {
    // Who borrows harms nobody else; what we have made ends with all that is in it.
    EXPECT_EQ(beats->alive(kBystander, ends ? 0.5 : kPatience), !ends);
    end_bystander();
  }
  if (!ends) {
    const auto status = run(opened_.sandbox->status(), kPatience);
    EXPECT_TRUE(status && *status == SandboxStatus::running) << "the borrowed sandbox is gone";
    // Asking may have connected anew.
    EXPECT_TRUE(client_tests::succeeded(run(opened_.sandbox->disconnect(), kPatience)));
    std::error_code ignored;
    fs::remove_all(artifacts, ignored);
  }
  testing::AssertionResult left = testing::AssertionSuccess();
  (void)harness::eventually([&] { return bool(left = nothing_left(want.keeps_evidence)); },
                            kPatience);
  EXPECT_TRUE(left);
  if (kept) fs::remove_all(outside(options.directory));
}

std::vector<pid_t> CellScene::clients_of(std::string_view word) {
  std::vector<pid_t> found;
  for (const harness::ProcessRow& row : harness::living_descendants()) {
    if (row.ppid != getpid()) continue;
    if (command_line(row.pid).find(word) != std::string::npos) found.push_back(row.pid);
  }
  return found;
}

pid_t CellScene::client() const {
  for (const pid_t pid : clients_of(options.directory)) {
    if (command_line(pid).find("launch") != std::string::npos) return pid;
  }
  // Without a client between, it is the guardian, whose command line says nothing.
  const pid_t guardian = harness::process_row(supervisor()).ppid;
  if (harness::process_row(guardian).ppid == getpid()) return guardian;
  throw std::runtime_error("the exec client is not found");
}

std::vector<pid_t> CellScene::workers(std::string_view word) const {
  std::vector<pid_t> found;
  for (const std::string& name : names_in("/proc")) {
    const pid_t pid = static_cast<pid_t>(std::atol(name.c_str()));
    if (pid <= 0) continue;
    const std::string line = command_line(pid);
    if (line.starts_with(worker_) && line.find(word) != std::string::npos) found.push_back(pid);
  }
  return found;
}

pid_t CellScene::supervisor() const {
  for (const pid_t pid : workers("mkdir:")) {
    const pid_t parent = harness::process_row(pid).ppid;
    if (!command_line(parent).starts_with(worker_)) return parent;
  }
  throw std::runtime_error("no supervisor is found");
}

void CellScene::start_bystander() {
  ExecRequest request{.argv = {worker_, "bound:280000", "beats:" + beats->path(),
                               "beat:" + std::to_string(kBystander)},
                      .deadline = kForever};
  bystander = start(opened_.sandbox->exec(std::move(request)));
  if (!until([&] { return beats->count(kBystander) > 1; }, kPatience)) {
    throw std::runtime_error("the bystander never lived");
  }
}

void CellScene::end_bystander() {
  for (const pid_t pid : workers("beat:" + std::to_string(kBystander))) kill(pid, SIGKILL);
  bystander->cancel();
  (void)end_of(bystander);
}

void CellScene::TearDown() {
  executing.reset();
  bystander.reset();
  session_.reset();
  opened_ = {};
  options = {};
  beats.reset();
  Scene::TearDown();
}

}  // namespace matrix
