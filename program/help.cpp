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

constexpr const char* kLaunchCodes =
    "  121  nothing was started: stopped before, claimed already, or no directory\n"
    "With --detach: 0 when CMD runs, else 121, 125, 126 or 127.\n";

}  // namespace

std::string help_text(std::string_view verb) {
  for (const VerbSpec& known : verb_table()) {
    if (known.word != verb) continue;
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
