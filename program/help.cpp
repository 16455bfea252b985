#include "program/help.hpp"

#include "contract/json.hpp"
#include "contract/report.hpp"
#include "program/option_table.hpp"
#include "quietus_version.hpp"

namespace quietus {
namespace {

constexpr std::size_t kHelpColumn = 30;

#if defined(__GLIBC__)
constexpr const char* kLibrary = "glibc";
#else
constexpr const char* kLibrary = "musl";
#endif

#if defined(__x86_64__)
constexpr const char* kMachine = "x86_64";
#elif defined(__aarch64__)
constexpr const char* kMachine = "aarch64";
#else
#error "quietus is built for x86_64 and aarch64"
#endif

std::string usage_of(const OptionSpec& spec) {
  std::string text = spec.letter != 0 ? std::string("  -") + spec.letter + ", " : "      ";
  text += "--";
  text += spec.name;
  if (spec.takes == Takes::value) text += ' ';
  if (spec.takes == Takes::optional_value) text += "[=";
  text += spec.value;
  if (spec.takes == Takes::optional_value) text += ']';
  return text;
}

std::string options_text(unsigned verbs) {
  std::string text = "Options:\n";
  const std::string margin(kHelpColumn, ' ');
  for (const OptionSpec& spec : option_table()) {
    if ((spec.verbs & verbs) == 0) continue;
    std::string line = usage_of(spec);
    if (line.size() + 2 > kHelpColumn) {
      text += line + '\n';
      line = margin;
    } else {
      line.resize(kHelpColumn, ' ');
    }
    for (const char c : spec.help) {
      line += c;
      if (c == '\n') line += margin;
    }
    text += line + '\n';
    if (!spec.alias.empty()) text += margin + "also --" + std::string(spec.alias) + '\n';
  }
  return text;
}

constexpr const char* kProgramHelp =
    "Usage: quietus run [OPTIONS] [--] CMD...\n"
    "       quietus --receipt FILE [OPTIONS] [--] CMD...\n"
    "       quietus VERB --session DIR [OPTIONS]\n"
    "       quietus probe [--json] | doctor | --version [--json] | [VERB] --help\n"
    "\n"
    "Run CMD under a deadline; ask it to end, kill and reap everything that it\n"
    "started, detached or not, and only then write a receipt that says so.\n"
    "\n"
    "The second form is NeMo Gym's process_supervisor: the receipt is required,\n"
    "durations are plain seconds, the exit code is 0 when cleanup was confirmed\n"
    "without an error, else 1. The first is for people; see quietus run --help.\n"
    "Verbs of a session: create, launch, stop, expire, renew, wait, status, remove.\n"
    "\n";

constexpr const char* kDurations =
    "DURATION is a number of seconds, or one with the suffix s, m, h or d.\n\n";

constexpr const char* kCommandCodes =
    "\n"
    "Exit codes: CMD's own, or 128+N when it died of signal N;\n"
    "  122  stopped on request              125  quietus itself failed\n"
    "  123  cleanup could not be confirmed  126  CMD cannot be executed\n"
    "  124  deadline or expire file         127  CMD was not found\n";

constexpr const char* kLaunchCodes =
    "  121  nothing was started: stopped before, claimed already, or no directory\n"
    "With --detach: 0 when CMD runs, else 121, 125, 126 or 127.\n";

constexpr const char* kStopCodes =
    "\nExit codes: 0 confirmed, 123 not confirmed, 125 not known (or not in time).\n";

struct VerbHelp {
  std::string_view verb;
  unsigned bit;
  const char* usage;
  const char* about;
  const char* codes;
};

constexpr VerbHelp kVerbHelp[] = {
    {"run", kRun, "run [OPTIONS] [--] CMD...", "Run CMD and leave nothing behind.", kCommandCodes},
    {"launch", kLaunch, "launch --session DIR [OPTIONS] [--] CMD...",
     "Claim the session, run CMD, leave the receipt in DIR.", kCommandCodes},
    {"stop", kStop, "stop --session DIR [OPTIONS]",
     "Stop the session's command, or fence a launch that is still to come; print\n"
     "the receipt as soon as it is final.",
     kStopCodes},
    {"wait", kWait, "wait --session DIR [OPTIONS]",
     "Wait until the receipt is final, and print it.", kStopCodes},
    {"status", kStatus, "status --session DIR [--json]", "Show what is known of the session.", ""},
    {"create", kOtherSession, "create --session DIR", "Make the directory, mode 0700.", ""},
    {"expire", kOtherSession, "expire --session DIR",
     "End the command as if its deadline had come.", ""},
    {"renew", kOtherSession, "renew --session DIR", "Keep the lease of the session.", ""},
    {"remove", kOtherSession, "remove --session DIR",
     "Delete the directory of a session that is over: stop it first.", ""},
    {"probe", kProbe, "probe [--json]", "Tell what this sandbox is, and which means work here.",
     ""},
    {"doctor", kDoctor, "doctor", "Show that everything can be ended here, and how surely.", ""},
};

}  // namespace

std::string help_text(std::string_view verb) {
  for (const VerbHelp& known : kVerbHelp) {
    if (known.verb != verb) continue;
    std::string text = "Usage: quietus ";
    text += known.usage;
    text += "\n\n";
    text += known.about;
    const bool has_durations = (known.bit & (kRun | kLaunch | kStop | kWait)) != 0;
    text += '\n';
    text += has_durations ? kDurations : "\n";
    text += options_text(known.bit);
    text += known.codes;
    if (known.bit == kLaunch) text += kLaunchCodes;
    return text;
  }
  return kProgramHelp + options_text(kBare);
}

std::string version_text() { return "quietus " + std::string(kVersion) + '\n'; }

std::string version_json() {
  JsonWriter json;
  json.begin_object()
      .field("name", "quietus")
      .field("version", kVersion)
      .field("commit", kCommit)
      .field("machine", kMachine)
      .field("libc", kLibrary)
      .field("report_schema_version", kReportVersion)
      .end_object();
  return json.take() + '\n';
}

}  // namespace quietus
