#include "client/fake_sandbox.hpp"

#include <algorithm>

#include "harness/tools.hpp"

namespace client_tests {
namespace {

ExecResult answer(int code, std::string out = {}, std::string err = {}) {
  ExecResult result;
  result.out = std::move(out);
  result.err = std::move(err);
  result.return_code = code;
  return result;
}

ExecResult broken(ErrorKind kind, std::string message) {
  ExecResult result;
  result.error = Error{kind, std::move(message), {}};
  return result;
}

std::string verb_of(const ExecRequest& request) {
  const std::string word = request.argv.size() > 1 ? request.argv[1] : "";
  return word == "--version" ? "version" : word;
}

}  // namespace

asio::awaitable<ExecResult> ModelSandbox::exec(ExecRequest request) {
  const std::string verb = verb_of(request);
  if (verb == "version") {
    co_return answer(0, R"({"name": "quietus", "version": "1", "commit": "c", "machine": "m",)"
                        R"( "libc": "l"})");
  }
  if (verb == "launch") co_return co_await guarded(launch(std::move(request.argv)));
  if (verb == "stop") co_return co_await guarded(stop_session());
  if (verb == "expire") end(-15, true);
  if (verb == "status") {
    const char* state = !claimed_ ? "new" : receipt_.empty() ? "running" : "done";
    co_return answer(0, std::string(R"({"state": ")") + state + R"(", "processes": []})");
  }
  co_return answer(0);
}

asio::awaitable<ExecResult> ModelSandbox::launch(std::vector<std::string> argv) {
  if (fenced_ || claimed_) co_return answer(121, "", "quietus: nothing started\n");
  claimed_ = true;
  const auto dashes = std::ranges::find(argv, "--");
  if (argv.end() - dashes == 3 && dashes[1] == "exit") {
    const int code = std::stoi(dashes[2]);
    end(code, false);
    files_["output.log"] = "said something\n";
    co_return answer(code);
  }
  files_["output.log"] = "started\n";
  const bool ended = co_await ended_.wait();
  if (!ended) {
    // The client is gone; the lease ends the command.
    co_await leave_in_peace();
    end(-15, false);
    co_return broken(ErrorKind::cancelled, "launch was cancelled");
  }
  co_return answer(122);
}

asio::awaitable<ExecResult> ModelSandbox::stop_session() {
  if (!claimed_) {
    fenced_ = true;
    receipt_ =
        R"({"cleanup_confirmed": true, "return_code": null, "error": null, "timed_out": false})";
  }
  end(-15, false);
  co_return answer(0, receipt_ + '\n');
}

void ModelSandbox::end(int code, bool timed_out) {
  if (receipt_.empty()) {
    receipt_ = R"({"cleanup_confirmed": true, "return_code": )" + std::to_string(code) +
               R"(, "error": null, "timed_out": )" + (timed_out ? "true}" : "false}");
  }
  ended_.set();
}

asio::awaitable<Expected<void>> ModelSandbox::upload(std::string local, std::string inside,
                                                     TransferOptions) {
  files_[inside] = harness::read_file(local);
  co_return Expected<void>{};
}

asio::awaitable<Expected<void>> ModelSandbox::download(std::string inside, std::string local,
                                                       TransferOptions) {
  for (const auto& [name, bytes] : files_) {
    if (!inside.ends_with(name)) continue;
    harness::write_file(local, bytes);
    co_return Expected<void>{};
  }
  co_return fail(ErrorKind::input, "'" + inside + "' is not there");
}

asio::awaitable<Expected<SandboxStatus>> ModelSandbox::status() {
  co_return SandboxStatus::running;
}
asio::awaitable<Expected<void>> ModelSandbox::stop() {
  end(-9, false);
  co_return Expected<void>{};
}
asio::awaitable<Expected<void>> ModelSandbox::disconnect() { co_return Expected<void>{}; }

WatchedSandbox::WatchedSandbox(asio::any_io_executor executor, std::shared_ptr<Sandbox> inner)
    : seen_traits(inner->traits()), executor_(std::move(executor)), inner_(std::move(inner)) {
  seen_traits.shares_files = false;
  seen_traits.files_outlive_stop = false;
  seen_traits.passes_stdin_end = true;
}

std::size_t WatchedSandbox::count(std::string_view step) const {
  return static_cast<std::size_t>(std::ranges::count(log, step));
}

std::ptrdiff_t WatchedSandbox::index(std::string_view step) const {
  const auto found = std::ranges::find(log, step);
  return found == log.end() ? -1 : found - log.begin();
}

void WatchedSandbox::hold(const std::string& step) {
  gates_.insert_or_assign(step, Event(executor_));
}

void WatchedSandbox::open(const std::string& step) {
  const auto gate = gates_.find(step);
  if (gate == gates_.end()) return;
  gate->second.set();
  gates_.erase(gate);
}

asio::awaitable<bool> WatchedSandbox::enter(const std::string& step) {
  log.push_back(step);
  const auto gate = gates_.find(step);
  if (gate == gates_.end()) co_return true;
  Event event = gate->second;
  co_return co_await event.wait();
}

bool WatchedSandbox::fails(const std::string& step) {
  const auto left = failures.find(step);
  return left != failures.end() && left->second-- > 0;
}

asio::awaitable<ExecResult> WatchedSandbox::exec(ExecRequest request) {
  return guarded(exec_watched(std::move(request)));
}

asio::awaitable<ExecResult> WatchedSandbox::exec_watched(ExecRequest request) {
  const std::string verb = verb_of(request);
  requests[verb].push_back(request);
  const bool entered = co_await enter(verb);
  if (!entered) {
    log.push_back(verb + " cancelled");
    co_return broken(ErrorKind::cancelled, verb + " was cancelled");
  }
  if (fails(verb)) co_return broken(ErrorKind::transport, verb + " failed");
  if (const auto scripted = instead.find(verb); scripted != instead.end()) {
    co_return scripted->second();
  }
  ExecResult result = co_await inner_->exec(std::move(request));
  const bool cancelled = result.error && result.error->kind == ErrorKind::cancelled;
  if (cancelled) log.push_back(verb + " cancelled");
  if (!cancelled && verb == "launch") log.push_back("launch returned");
  if (const auto change = afterwards.find(verb); change != afterwards.end()) {
    change->second(result);
  }
  co_return result;
}

asio::awaitable<Expected<void>> WatchedSandbox::step(
    std::string name, std::function<asio::awaitable<Expected<void>>()> real) {
  const bool entered = co_await enter(name);
  if (!entered) {
    log.push_back(name + " cancelled");
    co_return fail(ErrorKind::cancelled, name + " was cancelled");
  }
  if (fails(name)) co_return fail(ErrorKind::transport, name + " failed");
  co_return co_await real();
}

asio::awaitable<Expected<void>> WatchedSandbox::upload(std::string local, std::string inside,
                                                       TransferOptions options) {
  return guarded(step(
      "upload", [this, local, inside, options] { return inner_->upload(local, inside, options); }));
}

asio::awaitable<Expected<void>> WatchedSandbox::download(std::string inside, std::string local,
                                                         TransferOptions options) {
  return guarded(step("download", [this, local, inside, options] {
    return inner_->download(inside, local, options);
  }));
}

asio::awaitable<Expected<SandboxStatus>> WatchedSandbox::status() { return inner_->status(); }

asio::awaitable<Expected<void>> WatchedSandbox::stop() {
  return guarded(step("end sandbox", [this] { return inner_->stop(); }));
}

asio::awaitable<Expected<void>> WatchedSandbox::disconnect() {
  return guarded(step("disconnect", [this] { return inner_->disconnect(); }));
}

}  // namespace client_tests
