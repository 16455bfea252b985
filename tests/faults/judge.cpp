#include "faults/judge.hpp"

#include <sys/wait.h>

#include <algorithm>

#include "faults/run.hpp"
#include "harness/receipt_file.hpp"

namespace faults {
namespace {

using harness::ReceiptFile;
using quietus::Form;

int status_of(const Facts& facts) {
  return WIFEXITED(facts.status) ? WEXITSTATUS(facts.status) : -WTERMSIG(facts.status);
}

class Judge {
 public:
  Judge(const Case& made, const Fault& fault, const Facts& facts)
      : case_(made),
        fault_(fault),
        facts_(facts),
        bare_(made.options.form == Form::bare),
        status_(status_of(facts)),
        guardian_killed_(made.event == Event::kill_guardian && facts.event_happened != 0) {}

  std::vector<std::string> invariants() {
    if (facts_.finished == 0) {
      say("the test itself failed at " + std::string(facts_.setup_step) + ", errno " +
          std::to_string(facts_.setup_error));
      return found_;
    }
    strangers();
    if (facts_.hung != 0) {
      say("does not end within its patience");
      return found_;
    }
    if (facts_.halves_left > 0 && !must_work_at_last(fault_.kind)) say("a half of it is left");
    if (status_ < 0 && !guardian_killed_) say("died of signal " + std::to_string(-status_));
    read_receipt();
    nobody_lives();
    return_codes();
    told();
    return found_;
  }

  std::vector<std::string> expectations() {
    if (!invariants().empty()) return found_;
    const Want& want = case_.want;
    if (case_.event != Event::none && facts_.event_happened == 0) say("the worker never came up");
    if (status_ != want.status) say("status is not " + std::to_string(want.status));
    if (!receipt_) return found_;
    if (receipt_->cleanup_confirmed != want.confirmed) say("confirmed is not as expected");
    const int code = receipt_->return_code.value_or(Want::kNull);
    if (std::ranges::count(want.codes, code) == 0) say("the return code is not as expected");
    if (receipt_->error.has_value() != want.error) say("the error is not as expected");
    if (receipt_->timed_out != want.timed_out) say("timed_out is not as expected");
    return found_;
  }

 private:
  void say(std::string text) { found_.push_back(std::move(text)); }

  void strangers() {
    if (facts_.strangers_lost > 0) say("killed a stranger");
  }

  void read_receipt() {
    if (facts_.has_receipt == 0) return;
    std::string why;
    receipt_ = ReceiptFile::parse(facts_.receipt, why);
    if (!receipt_) say("receipt: " + why);
  }

  // Whether actors may live although the end is confirmed.
  [[nodiscard]] bool may_live(int attached) const {
    switch (case_.keeps) {
      case Keeps::nothing: return false;
      case Keeps::detached: return attached == 0;
      case Keeps::everything_after_success:
        return facts_.worker_collected != 0 && facts_.worker_code == 0 &&
               (!receipt_ || !receipt_->timed_out);
    }
    return false;
  }

  void nobody_lives() {
    const bool confirmed = receipt_ && receipt_->cleanup_confirmed;
    if (confirmed && facts_.alive_at_receipt > 0 && !may_live(facts_.attached_at_receipt)) {
      say("confirmed while an actor lived: " + std::string(facts_.alive_at_receipt_text));
    }
    if (facts_.alive == 0 || may_live(facts_.attached)) return;
    if (confirmed) say("confirmed, and an actor lives: " + std::string(facts_.alive_text));
    if (guardian_killed_) return;
    const bool says_so = bare_ ? status_ == 1 : status_ == 123 || status_ == 125;
    if (!says_so)
      say("an actor lives, and the exit code hides it: " + std::string(facts_.alive_text));
  }

  // What quietus tells of the worker's end is what the kernel told, or nothing.
  void return_codes() {
    if (!receipt_ || !receipt_->return_code) return;
    // A child that was killed on its way to the program has that end, and no exit code.
    if (!facts_.worker_ran() && *receipt_->return_code >= 0) {
      say("an exit code of a program that never ran");
    } else if (facts_.worker_collected == 0) {
      say("a return code that nobody was told");
    } else if (*receipt_->return_code != facts_.worker_code) {
      say("a return code that the worker did not have: " +
          std::to_string(facts_.worker_code.load()));
    }
  }

  void told() {
    if (guardian_killed_) return;
    if (!receipt_) {
      const bool says_so = bare_ ? status_ == 1 : status_ == 123 || status_ == 125;
      if (!says_so) say("no receipt, and the exit code does not say so");
      return;
    }
    // It stands there, but may not outlive the machine (--sync).
    if (std::string_view(facts_.message).find("cannot write the receipt") != std::string::npos) {
      if (status_ != (bare_ ? 1 : 125)) say("a receipt that failed, and the exit code hides it");
      return;
    }
    const bool clean = receipt_->cleanup_confirmed && !receipt_->error;
    if (bare_) {
      if ((status_ == 0) != clean) say("exit code and receipt differ");
      return;
    }
    if ((status_ == 123) == receipt_->cleanup_confirmed) say("exit code and receipt differ");
    const bool own_code = status_ < 121 || status_ > 127;
    const int code = status_ > 128 ? 128 - status_ : status_;
    if (own_code &&
        (!facts_.worker_ran() || facts_.worker_collected == 0 || code != facts_.worker_code)) {
      say("an exit code that the worker did not have");
    }
  }

  const Case& case_;
  const Fault& fault_;
  const Facts& facts_;
  const bool bare_;
  const int status_;
  const bool guardian_killed_;
  std::optional<ReceiptFile> receipt_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> violations(const Case& made, const Fault& fault, const Facts& facts) {
  return Judge(made, fault, facts).invariants();
}

std::vector<std::string> deviations(const Case& made, const Facts& facts) {
  return Judge(made, {}, facts).expectations();
}

std::string summary(const Facts& facts) {
  std::string text = "status " + std::to_string(status_of(facts)) + ", " +
                     (facts.has_receipt != 0 ? facts.receipt : "no receipt") + ", worker ";
  text += facts.worker_collected != 0 ? std::to_string(facts.worker_code.load()) : "not collected";
  text += ", struck " + std::to_string(facts.struck.load()) + " times, " +
          std::to_string(facts.seconds).substr(0, 5) + " s";
  if (facts.message[0] != '\0') text += ", says: " + std::string(facts.message);
  return text;
}

}  // namespace faults
