// The fixture of the session tests: one session directory, its verbs, and its two halves, which are
// found by supervisor.id and believed only where the process table agrees.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/scenario.hpp"

namespace session_tests {

using namespace harness;

struct Halves {
  pid_t guardian = 0;
  pid_t supervisor = 0;
};

class SessionScene : public Scenario {
 protected:
  void SetUp() override;

  [[nodiscard]] std::string dir() const { return path("s"); }
  [[nodiscard]] std::string file(std::string_view name) const;

  // quietus VERB --session DIR and more words.
  [[nodiscard]] Launch verb(const std::string& word, const Words& more = {}) const;
  [[nodiscard]] Ended does(const std::string& word, const Words& more = {}, double seconds = 30);

  // quietus launch; its records are those of the session.
  [[nodiscard]] Launch launching(const Words& options, const Words& command) const;
  // With --detach; expects that the command runs.
  void launch_detached(const Words& options, const Words& command);

  // Whoever supervises the session in this directory, each seen to be a living quietus below us.
  [[nodiscard]] Halves halves() const;
  // Kills both so that neither sees the other go, and collects them.
  void kill_both_halves() const;

  // The receipt in the directory; a test failure where it is not in the contract's form.
  [[nodiscard]] std::optional<ReceiptFile> receipt() const;
  [[nodiscard]] std::optional<Json> report() const;
  [[nodiscard]] Json status();

  // A worker that beats in slot 1 and dies of TERM; one that has to be killed, with a daemon that
  // beats in slot 2. The daemon beats first: once alive(1), both are.
  [[nodiscard]] Words mild() const { return actor({"beat:1"}); }
  [[nodiscard]] Words stubborn() const;
  // A shell runs the text with DIR as $0, then becomes the words.
  [[nodiscard]] Words shell_then(const std::string& text, const Words& words) const;
};

// Exactly one line, as every refusal has.
testing::AssertionResult is_one_line(std::string_view text);

bool alive(pid_t pid);

// No actor lived when this had ended: of a session that is over only its halves may still be on
// their last step, with the lock released.
testing::AssertionResult no_worker_outlived(const Ended& ended);

}  // namespace session_tests
