#include "cli/explain.hpp"

#include <algorithm>

#include "cli/values.hpp"
#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "contract/receipt_parse.hpp"
#include "contract/signals.hpp"

namespace quietus::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostProcesses = 20;

// What stands there, if it is of that kind.
std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
std::optional<double> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}
const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

// The words of the report, told.
struct Word {
  std::string_view word;
  std::string_view sentence;
};

constexpr Word kCauses[] = {
    {"exited", "the command ended by itself"},
    {"deadline", "its deadline came"},
    {"stop", "a stop was asked for"},
    {"expire", "it was made to expire, as its deadline would"},
    {"lease", "its lease ran out: the controller did not renew it, or was cut off"},
    {"parent-gone", "whoever had started it was gone"},
    {"launch-failed", "it could not be started"},
    {"supervisor-killed",
     "a half of the supervisor was killed, and the other one ended everything"},
};
constexpr Word kProofs[] = {
    {"no-children-left", "the kernel said that no child was left, to a verified subreaper"},
    {"cgroup-unpopulated", "the kernel said that nobody was left in the command's cgroup"},
    {"pid-namespace-gone", "the command's PID namespace was gone, and all in it"},
    {"process-group-empty", "the kernel said that the command's process group was empty"},
    {"kept-by-policy", "the command succeeded, and what it left was to be kept"},
};
constexpr Word kMeans[] = {
    {"shield", "one kill within the Landlock shield"}, {"isolate", "the end of its PID namespace"},
    {"cgroup", "the kill file of its cgroup"},         {"sweep", "a sweep through its descendants"},
    {"group", "a kill of its process group"},
};

template <std::size_t N>
std::string told(const Word (&words)[N], const std::string& word) {
  for (const Word& known : words) {
    if (known.word == word) return std::string(known.sentence);
  }
  return word;
}

// Whether the report says the same as the receipt in what both of them say.
bool agrees(const Json& report, const Receipt& receipt) {
  const Json code = receipt.return_code ? Json(*receipt.return_code) : Json();
  return member(report, "cleanup_confirmed") == receipt.cleanup_confirmed &&
         member(report, "timed_out") == receipt.timed_out && member(report, "return_code") == code;
}

std::string process_text(const Json& process) {
  std::string text;
  if (const auto pid = number_of(process, "pid")) {
    text += "pid " + decimal(static_cast<std::int64_t>(*pid)) + ' ';
  }
  const std::string words = text_of(process, "command_line");
  text += shown_value(words.empty() ? text_of(process, "comm") : words);
  const std::string why = text_of(process, "why");
  return why.empty() ? text : text + ": " + why;
}

void add_processes(std::vector<std::string>& out, const Json& list, const std::string& title) {
  if (!list.is_array() || list.empty()) return;
  out.push_back(title + ' ' + decimal(list.size()) + ':');
  for (std::size_t at = 0; at < list.size() && at < kMostProcesses; ++at) {
    out.push_back("  " + process_text(list[at]));
  }
  if (list.size() > kMostProcesses) {
    out.push_back("  and " + decimal(list.size() - kMostProcesses) + " more");
  }
}

std::string usage_text(const Json& usage) {
  const double user = number_of(usage, "user_seconds").value_or(0);
  const double system = number_of(usage, "system_seconds").value_or(0);
  std::string text = duration_text(user + system) + " of CPU";
  if (const auto peak = number_of(usage, "peak_rss_kib")) {
    text += ", " + size_text(static_cast<std::uint64_t>(std::max(0.0, *peak)) * 1024) + " at most";
  }
  return text;
}

void add_report(std::vector<std::string>& out, const Json& report) {
  std::string cause = "Why it ended: " + told(kCauses, text_of(report, "cause"));
  if (const std::string by = text_of(report, "stop_by"); !by.empty()) cause += " (" + by + ')';
  out.push_back(cause + '.');
  if (const std::string proof = text_of(report, "proof"); !proof.empty()) {
    out.push_back("How that is known: " + told(kProofs, proof) + '.');
  }
  if (const std::string means = text_of(report, "means"); !means.empty() && means != "none") {
    out.push_back("What did the killing: " + told(kMeans, means) + '.');
  }
  const auto count = [&](const char* key) {
    return static_cast<std::int64_t>(number_of(report, key).value_or(0));
  };
  out.push_back("Descendants: " + decimal(count("reaped")) + " collected, " +
                decimal(count("killed")) + " of them killed.");
  const Json& times = member(report, "times");
  if (times.is_object()) {
    out.push_back("Times: the command ran " +
                  duration_text(number_of(times, "worker_seconds").value_or(0)) +
                  ", its cleanup took " +
                  duration_text(number_of(times, "cleanup_seconds").value_or(0)) + '.');
  }
  const Json& usage = member(report, "usage");
  if (usage.is_object() && member(usage, "worker").is_object()) {
    out.push_back("Usage: the command " + usage_text(usage["worker"]) + "; its descendants " +
                  usage_text(member(usage, "descendants")) + '.');
  }
  if (const auto cut = number_of(report, "output_bytes_cut"); cut && *cut > 0) {
    out.push_back("Output: " + size_text(static_cast<std::uint64_t>(*cut)) +
                  " were cut from its middle.");
  }
  for (const Json& step : member(report, "steps")) {
    if (!step.is_object()) continue;
    out.push_back("After " + duration_text(number_of(step, "at_seconds").value_or(0)) + ": " +
                  text_of(step, "action") + ' ' + text_of(step, "signal") + ", " +
                  decimal(static_cast<std::int64_t>(number_of(step, "reached").value_or(0))) +
                  " reached.");
  }
  add_processes(out, member(report, "survivors"), "Still alive:");
  add_processes(out, member(report, "kept"), "Kept:");
  for (const Json& fallback : member(report, "fallbacks")) {
    if (!fallback.is_object()) continue;
    out.push_back("Not to be had: " + text_of(fallback, "call") +
                  "; instead: " + text_of(fallback, "instead") + '.');
  }
  for (const Json& note : member(report, "notes")) {
    if (note.is_string()) out.push_back("Note: " + note.get<std::string>() + '.');
  }
}

}  // namespace

std::optional<Json> parse_report(std::string_view text) {
  Json report = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object() || member(report, "schema") != "quietus-report") return std::nullopt;
  return report;
}

int exit_code_of(const Receipt& receipt, const Json* report, std::optional<int> launch_code) {
  if (!receipt.cleanup_confirmed) return kExitNotConfirmed;
  if (report != nullptr && agrees(*report, receipt)) {
    const std::string cause = text_of(*report, "cause");
    if (cause == "launch-failed") {
      return launch_code == kExitNotExecutable || launch_code == kExitNotFound ? *launch_code
                                                                               : kExitFailed;
    }
    if (receipt.error) return kExitFailed;
    if (cause == "stop" || cause == "lease" || cause == "parent-gone") return kExitStopped;
  }
  if (receipt.error) return kExitFailed;
  if (receipt.timed_out) return kExitTimedOut;
  if (!receipt.return_code) return kExitFailed;
  return *receipt.return_code < 0 ? kExitSignalBase - *receipt.return_code : *receipt.return_code;
}

std::string ending_text(const Receipt& receipt) {
  const bool refused = receipt.error && receipt.error->starts_with("[Errno ");
  if (!receipt.return_code && refused) return "could not be started";
  if (!receipt.return_code) return "did not run, or nobody knows how it ended";
  if (*receipt.return_code < 0) return "died of " + signal_name(-*receipt.return_code);
  return "exited with " + decimal(*receipt.return_code);
}

Expected<Explanation> explain(std::string_view text) {
  Explanation explanation;
  const auto report = parse_report(text);
  const auto parsed = parse_receipt(text);
  if (!parsed) {
    return fail(ErrorKind::input,
                "this is neither a receipt nor a report: " + std::string(parsed.error()));
  }
  explanation.receipt = parsed->receipt;
  explanation.is_report = report.has_value();
  explanation.strict = parsed->strict || report.has_value();
  const Receipt& receipt = explanation.receipt;
  explanation.exit_code = exit_code_of(receipt, report ? &*report : nullptr, std::nullopt);
  auto& out = explanation.sentences;
  out.emplace_back(receipt.cleanup_confirmed
                       ? "Cleanup: confirmed. Nothing is left that was to end."
                       : "Cleanup: NOT confirmed. Something of it may still run.");
  out.push_back("Command: " + ending_text(receipt) +
                (receipt.timed_out ? "; its time was over." : "."));
  if (receipt.error) out.push_back("Trouble: " + *receipt.error + '.');
  if (!explanation.strict) {
    out.emplace_back(
        "Form: not exactly the four keys of a receipt; only what has the right type counts.");
  }
  if (report) add_report(out, *report);
  out.push_back("As an exit code of quietus run: " + decimal(explanation.exit_code) + '.');
  return explanation;
}

}  // namespace quietus::cli
