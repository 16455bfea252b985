// The fixture of the session's tests: one session over a scripted sandbox or over this machine,
// owned or borrowed, with a watcher between. Each test runs in all four forms unless it says which.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/fake_sandbox.hpp"
#include "client/scene.hpp"

namespace client_tests {

enum class Where { fake, local };

struct Form {
  Where where;
  Ownership ownership;
};
inline constexpr Form kForms[] = {{Where::fake, Ownership::owned},
                                  {Where::fake, Ownership::borrowed},
                                  {Where::local, Ownership::owned},
                                  {Where::local, Ownership::borrowed}};
inline constexpr Form kOwned[] = {kForms[0], kForms[2]};
inline constexpr Form kBorrowed[] = {kForms[1], kForms[3]};
inline constexpr Form kLocal[] = {kForms[2], kForms[3]};
std::string form_name(const testing::TestParamInfo<Form>& info);

class SessionScene : public Scene, public testing::WithParamInterface<Form> {
 protected:
  using Executing = std::shared_ptr<Pending<Expected<Artifacts>>>;
  using Closing = std::shared_ptr<Pending<Expected<void>>>;

  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] bool owned() const { return GetParam().ownership == Ownership::owned; }
  [[nodiscard]] bool local() const { return GetParam().where == Where::local; }

  // Before the session is used for the first time.
  SessionOptions options;
  [[nodiscard]] Session& session();
  [[nodiscard]] WatchedSandbox& sandbox() { return *sandbox_; }
  // Of the steps of this scene.
  [[nodiscard]] std::string dir() const { return path("session"); }

  // Commands: one that ends by itself, one that runs until it is stopped.
  [[nodiscard]] static SessionCommand exits(int code);
  [[nodiscard]] SessionCommand runs() const;

  // Starts execute; stage gives the command, collect gives "artifacts" and logs "collect" (see
  // collecting for what it does before).
  Executing execute(SessionCommand command, Span timeout = 60s, Span close_timeout = 20s);
  Executing execute(Stage stage, Span timeout = 60s, Span close_timeout = 20s);
  std::function<asio::awaitable<Expected<Artifacts>>()> collecting;
  Closing close(Span timeout = 20s) { return start(session().close(timeout)); }

  // Its end; a test failure where that does not come.
  template <class T>
  T& end_of(const std::shared_ptr<Pending<T>>& pending) {
    if (!until([&] { return pending->done(); }) || pending->threw()) {
      throw std::runtime_error("it did not end, or threw");
    }
    return pending->result();
  }
  // The command has been launched, and is seen to run.
  [[nodiscard]] bool runs_now();
  [[nodiscard]] std::size_t count(std::string_view step) const { return sandbox_->count(step); }
  [[nodiscard]] std::ptrdiff_t index(std::string_view step) const { return sandbox_->index(step); }
  // "end sandbox" or "disconnect".
  [[nodiscard]] std::string release() const { return owned() ? "end sandbox" : "disconnect"; }
  [[nodiscard]] bool is_artifacts(const Expected<Artifacts>& result) const;
  std::vector<std::string> warnings;

 private:
  std::shared_ptr<WatchedSandbox> sandbox_;
  std::unique_ptr<Session> session_;
};

}  // namespace client_tests
