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

std::string options_text() {
  std::string text = "Options:\n";
  for (const OptionSpec& spec : option_table()) {
    std::string line = usage_of(spec);
    const std::string margin(kHelpColumn, ' ');
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

}  // namespace

std::string help_text() {
  return "Usage: quietus run [OPTIONS] [--] CMD...\n"
         "       quietus --receipt FILE [OPTIONS] [--] CMD...\n"
         "       quietus --version [--json] | --help | run --help\n"
         "\n"
         "Run CMD under a deadline; ask it to end, kill and reap everything that it\n"
         "started, detached or not, and only then write a receipt that says so.\n"
         "\n"
         "The second form is NeMo Gym's process_supervisor: the receipt is required,\n"
         "durations are plain seconds, the exit code is 0 when cleanup was confirmed\n"
         "without an error, else 1. The first is for people; see quietus run --help.\n"
         "\n" +
         options_text();
}

std::string run_help_text() {
  return "Usage: quietus run [OPTIONS] [--] CMD...\n"
         "\n"
         "Run CMD and leave nothing behind. DURATION is a number of seconds, or one\n"
         "with the suffix s, m, h or d.\n"
         "\n" +
         options_text() +
         "\n"
         "Exit codes: CMD's own, or 128+N when it died of signal N;\n"
         "  122  stopped on request              125  quietus itself failed\n"
         "  123  cleanup could not be confirmed  126  CMD cannot be executed\n"
         "  124  deadline or expire file         127  CMD was not found\n";
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
