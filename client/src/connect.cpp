#include "quietus/connect.hpp"

#include "client/src/command_sandbox.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

// An image may have to be fetched, an allocation to be waited for.
constexpr Span kCreateTime = 30min;

Error not_running(const std::string& name, SandboxStatus status) {
  if (status == SandboxStatus::absent) {
    return {ErrorKind::sandbox, "there is no '" + name + "'", "check its name, or make it"};
  }
  return {ErrorKind::sandbox,
          "'" + name + "' does not run: it is " + std::string(quietus::name(status)), "start it"};
}

// Whatever came of the making: nothing of it may stay.
asio::awaitable<void> unmake(std::unique_ptr<Transport> made) {
  co_await leave_in_peace();
  auto command = made->stop();
  if (command) (void)co_await run_client(std::move(*command), 60s);
}

asio::awaitable<Expected<OpenedSandbox>> make_sandbox(std::unique_ptr<Transport> maker,
                                                      std::string payload) {
  auto command = maker->create(payload);
  if (!command) co_return fail(command.error());
  const ProcessEnd end = co_await run_client(std::move(*command), kCreateTime);
  auto made = maker->created(client_end(end));
  if (end.error) {
    // Cut off, it may have made something all the same; its name is known before it exists.
    if (made) maker = std::move(*made);
    co_await unmake(std::move(maker));
    co_return fail(*end.error);
  }
  if (!made) {
    co_await unmake(std::move(maker));
    co_return fail(made.error());
  }
  auto sandbox = std::make_shared<CommandSandbox>(std::move(*made));
  co_return OpenedSandbox{std::move(sandbox), Ownership::owned};
}

asio::awaitable<Expected<OpenedSandbox>> open_it(std::string name, std::string payload,
                                                 TransportOptions options) {
  auto transport = transport_from_name(name, options);
  if (!transport) co_return fail(transport.error());
  const bool creates = (*transport)->creates();
  OpenedSandbox opened;
  if (creates) {
    auto made = co_await make_sandbox(std::move(*transport), std::move(payload));
    if (!made) co_return fail(made.error());
    opened = std::move(*made);
  } else {
    opened.sandbox = std::make_shared<CommandSandbox>(std::move(*transport));
  }
  const auto status = co_await opened.sandbox->status();
  if (status && *status == SandboxStatus::running) co_return opened;
  if (creates) {
    co_await leave_in_peace();
    (void)co_await opened.sandbox->stop();
  }
  if (!status) co_return fail(status.error());
  co_return fail(not_running(name, *status));
}

}  // namespace

asio::awaitable<Expected<OpenedSandbox>> open_sandbox(std::string name, std::string payload,
                                                      TransportOptions options) {
  co_return co_await guarded(open_it(std::move(name), std::move(payload), std::move(options)));
}

std::shared_ptr<Sandbox> sandbox_over(std::unique_ptr<Transport> transport) {
  return std::make_shared<CommandSandbox>(std::move(transport));
}

}  // namespace quietus
