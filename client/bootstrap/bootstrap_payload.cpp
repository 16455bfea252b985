// The build of the supervisor that fits each sandbox, for sessions.
#include "quietus/bootstrap.hpp"

namespace quietus {
namespace {

class BootstrapPayload final : public PayloadSource {
 public:
  BootstrapPayload(std::string usual, BootstrapOptions options)
      : usual_(usual.empty() ? nullptr : payload_file(std::move(usual))),
        options_(std::move(options)) {}

  asio::awaitable<Expected<std::string>> place(Sandbox& sandbox, std::string directory) override {
    std::optional<Error> refused;
    if (usual_) {
      auto there = co_await usual_->place(sandbox, std::move(directory));
      if (there || there.error().kind != ErrorKind::sandbox) co_return there;
      refused = there.error();
    }
    auto placed = co_await supervisor_for_sandbox(sandbox, options_);
    if (placed) co_return std::move(placed->path);
    // Why the usual one does not run is the end of the story.
    Error error = placed.error();
    if (refused && !error.cause) error = std::move(error).because(std::move(*refused));
    co_return fail(std::move(error));
  }

 private:
  std::shared_ptr<PayloadSource> usual_;
  BootstrapOptions options_;
};

}  // namespace

std::shared_ptr<PayloadSource> bootstrap_payload(std::string usual, BootstrapOptions options) {
  return std::make_shared<BootstrapPayload>(std::move(usual), std::move(options));
}

}  // namespace quietus
