// The fixture of every black-box test. It gives a scratch directory and a page of heartbeats,
// starts quietus, and sees to it that nothing outlives the test: the test process is a child
// subreaper, and at the end it kills and collects every descendant. A living one that the test did
// not expect is a failure of the test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/beats.hpp"
#include "harness/features.hpp"
#include "harness/launch.hpp"
#include "harness/receipt_file.hpp"
#include "harness/running.hpp"
#include "harness/scratch.hpp"
#include "harness/tools.hpp"
#include "harness/watchdog.hpp"

namespace harness {

enum class Error { none, some, any };

// What a receipt shall say. The exit code of the bare form is checked with it: 0 if and only if the
// receipt is confirmed and without an error, else 1.
struct Want {
  std::optional<bool> confirmed = true;        // nothing: either
  std::vector<std::optional<int>> codes = {};  // one of these, nullopt for null; empty: any
  Error error = Error::none;
  std::optional<bool> timed_out = false;  // nothing: either
};

testing::AssertionResult receipt_is(const Ended& ended, const Want& want);

// The exact bytes of a receipt.
std::string exactly(bool confirmed, std::optional<int> code, std::optional<std::string> error,
                    bool timed_out);

// Whether text holds the part; for messages on stderr and in receipts.
testing::AssertionResult holds(std::string_view text, std::string_view part);

class Scenario : public testing::Test {
 protected:
  Scenario();
  ~Scenario() override;
  void TearDown() override;

  [[nodiscard]] std::string path(std::string_view name) const { return scratch_.path(name); }

  // The actor with a script, its heartbeats mapped, bounded to half a minute.
  [[nodiscard]] Words actor(const Words& script) const;

  // quietus with the options given, a receipt at path("receipt.json") and a cleanup timeout of 2 s
  // unless the options name others. `run` also asks for a report at path("report.json").
  [[nodiscard]] Launch bare(const Words& options, const Words& command) const;
  [[nodiscard]] Launch run(const Words& options, const Words& command) const;
  // Adds the report to a bare launch.
  [[nodiscard]] Launch reported(Launch launch) const;
  // quietus with just these words.
  [[nodiscard]] Launch plain(const Words& words) const;

  // As another user, with binaries that every user can reach.
  [[nodiscard]] Launch as_user(Launch launch, unsigned uid) const;
  // In a PID namespace of its own, under an init that collects orphans; a namespace that a broken
  // quietus cannot leave, for whatever could hit strangers.
  [[nodiscard]] Launch in_pid_namespace(Launch launch) const;

  [[nodiscard]] Running start(Launch launch);
  [[nodiscard]] Ended end_of(Launch launch, double seconds = 20);
  // Removes receipt and report, for another run in the same test.
  void clear_records() const;

  // Lets living descendants be there at the end; they are still killed.
  void allow_leftovers() { leftovers_allowed_ = true; }

  // A uid that no other test uses at the same time.
  [[nodiscard]] static unsigned lonely_uid();
  // Of a binary, where every uid may run it: the sources may lie below /root.
  [[nodiscard]] std::string public_copy(const std::string& binary) const;

 private:
  Launch with_records(Form form, const Words& options, const Words& command) const;

  Watchdog watchdog_;
  Scratch scratch_;
  bool leftovers_allowed_ = false;
  int starts_ = 0;

 protected:
  Beats beats_;
};

}  // namespace harness
