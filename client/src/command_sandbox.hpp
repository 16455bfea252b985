// A sandbox over a transport: what turns its words into processes.
#pragma once

#include <memory>
#include <string>

#include "client/src/process.hpp"
#include "client/src/transfer.hpp"
#include "quietus/connect.hpp"

namespace quietus {

class CommandSandbox final : public Sandbox {
 public:
  explicit CommandSandbox(std::unique_ptr<Transport> transport);

  [[nodiscard]] std::string name() const override { return transport_->name(); }
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
  asio::awaitable<ExecResult> exec_here(ExecRequest request);
  asio::awaitable<Expected<SandboxStatus>> ask_status();
  asio::awaitable<Expected<void>> stop_it();
  asio::awaitable<Expected<void>> let_go();

  std::unique_ptr<Transport> transport_;
  Traits traits_;
  Transfer transfer_;
  bool stopped_ = false;  // by us: what is absent then has not been missing from the start
};

// Runs a transport's own command and says how it ended; the error tells that it did not run.
asio::awaitable<ProcessEnd> run_client(HostCommand command, Span deadline);
// What a transport judges by.
ClientEnd client_end(const ProcessEnd& end);

}  // namespace quietus
