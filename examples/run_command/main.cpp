// Runs a command in a sandbox with libquietus, and prints what it says.
#include <quietus/quietus.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <iostream>

asio::awaitable<void> greet() {
  quietus::TransportOptions options;
  auto opened = co_await quietus::open_sandbox("local", "", options);
  if (!opened) co_return;
  quietus::ExecRequest request;
  request.shell = "echo hello from inside";
  const quietus::ExecResult result = co_await opened->sandbox->exec(std::move(request));
  std::cout << result.out;
}

int main() {
  asio::io_context loop;
  asio::co_spawn(loop, greet(), asio::detached);
  loop.run();
}
