// One start of quietus: what a test wants to run, before it runs. Built by Scenario::bare and
// Scenario::run, changed freely, started with Scenario::start.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/tools.hpp"

namespace harness {

enum class Form { bare, run };

struct Launch {
  Form form = Form::bare;
  Words outer;          // commands in front of everything: unshare, bwrap, strace
  Words inner;          // commands behind QUIETUS_WRAPPER, right in front of quietus: setpriv
  Words words;          // quietus and its arguments
  std::string receipt;  // the path; "" for none
  std::string report;
  std::string directory;  // "" for this one
  std::optional<Words> environment;
  int in = -1;   // -1: /dev/null
  int out = -1;  // -1: a file in the scratch directory
  int err = -1;
  std::function<void()> in_child;  // called between fork and exec
  std::string namespace_status;    // set by Scenario::in_pid_namespace
  bool may_leave = false;          // processes may be left when quietus has ended
  // strace and the like hold the descriptors 0-2 of their own: nothing of quietus' bare contract
  // about the exit code is checked where a command in front hides it.
  bool exit_code_is_ours = true;

  [[nodiscard]] Words all_words() const { return outer + wrapper() + inner + words; }
};

// Blocks these signals, or ignores them, in what is started.
std::function<void()> blocking(std::vector<int> signals);
std::function<void()> ignoring(std::vector<int> signals);
std::function<void()> limiting(int resource, unsigned long soft, unsigned long hard);

}  // namespace harness
