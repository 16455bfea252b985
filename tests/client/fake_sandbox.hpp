// Sandboxes for the session's tests. ModelSandbox is scripted: it answers the verbs of quietus from
// its memory. WatchedSandbox stands before it, or before a real one, takes a log of what the
// session does, and lets a test hold, fail or change each step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/src/task.hpp"
#include "quietus/quietus.hpp"

namespace client_tests {

using namespace quietus;

inline constexpr const char* kConfirmed =
    R"({"cleanup_confirmed": true, "return_code": 0, "error": null, "timed_out": false})";

// One session of quietus, in memory. The command "exit N" ends at once, any other when it is
// stopped.
class ModelSandbox final : public Sandbox {
 public:
  explicit ModelSandbox(asio::any_io_executor executor)
      : executor_(std::move(executor)), ended_(executor_) {}

  [[nodiscard]] std::string name() const override { return "model"; }
  [[nodiscard]] const Traits& traits() const override { return traits_; }
  asio::awaitable<ExecResult> exec(ExecRequest request) override;
  asio::awaitable<Expected<void>> upload(std::string local, std::string inside,
                                         TransferOptions options) override;
  asio::awaitable<Expected<void>> download(std::string inside, std::string local,
                                           TransferOptions options) override;
  asio::awaitable<Expected<SandboxStatus>> status() override;
  asio::awaitable<Expected<void>> stop() override;
  asio::awaitable<Expected<void>> disconnect() override;

 private:
  asio::awaitable<ExecResult> launch(std::vector<std::string> argv);
  asio::awaitable<ExecResult> stop_session();
  void end(int code, bool timed_out);

  asio::any_io_executor executor_;
  Event ended_;
  bool claimed_ = false;
  bool fenced_ = false;
  std::string receipt_;
  std::map<std::string, std::string> files_;
  Traits traits_;
};

class WatchedSandbox final : public Sandbox {
 public:
  WatchedSandbox(asio::any_io_executor executor, std::shared_ptr<Sandbox> inner);

  // "upload", "version", "create", "launch", "launch cancelled", "launch returned", "stop",
  // "remove", "expire", "status", "download", "end sandbox", "disconnect".
  std::vector<std::string> log;
  [[nodiscard]] std::size_t count(std::string_view step) const;
  [[nodiscard]] std::ptrdiff_t index(std::string_view step) const;  // of the first; -1 for none

  // The requests of each verb, in order.
  std::map<std::string, std::vector<ExecRequest>> requests;
  // Instead of the step itself.
  std::map<std::string, std::function<ExecResult()>> instead;
  // What becomes of the real result.
  std::map<std::string, std::function<void(ExecResult&)>> afterwards;
  // The step waits, before anything else, until open() (or its cancellation).
  void hold(const std::string& step);
  void open(const std::string& step);
  // "upload", "end sandbox" and "disconnect" fail this many times; exec steps too, without being
  // carried out.
  std::map<std::string, int> failures;
  // Of shares_files and files_outlive_stop, false, whatever the inner one says.
  Traits seen_traits;

  [[nodiscard]] std::string name() const override { return inner_->name(); }
  [[nodiscard]] const Traits& traits() const override { return seen_traits; }
  asio::awaitable<ExecResult> exec(ExecRequest request) override;
  asio::awaitable<Expected<void>> upload(std::string local, std::string inside,
                                         TransferOptions options) override;
  asio::awaitable<Expected<void>> download(std::string inside, std::string local,
                                           TransferOptions options) override;
  asio::awaitable<Expected<SandboxStatus>> status() override;
  asio::awaitable<Expected<void>> stop() override;
  asio::awaitable<Expected<void>> disconnect() override;

 private:
  // False: it was cancelled while it was held.
  asio::awaitable<bool> enter(const std::string& step);
  [[nodiscard]] bool fails(const std::string& step);
  asio::awaitable<ExecResult> exec_watched(ExecRequest request);
  asio::awaitable<Expected<void>> step(std::string name,
                                       std::function<asio::awaitable<Expected<void>>()> real);

  asio::any_io_executor executor_;
  std::shared_ptr<Sandbox> inner_;
  std::map<std::string, Event> gates_;
};

}  // namespace client_tests
