#include "program/option_table.hpp"

namespace quietus {
namespace {

using enum Takes;

constexpr OptionSpec kOptions[] = {
    {OptionId::session, "session", 0, value, "DIR", "the session's directory", kSessions},
    {OptionId::timeout, "timeout", 't', value, "DURATION",
     "deadline of the command (default: none); stop\n"
     "and wait: how long to wait (60 s; no end)",
     kCommands | kStop | kWait},
    {OptionId::cleanup_timeout, "cleanup-timeout", 'k', value, "DURATION",
     "bound of each cleanup phase: the grace after\n"
     "the signal, reaping, draining (default: 10)",
     kCommands, "kill-after"},
    {OptionId::signal, "signal", 's', value, "SIGNAL",
     "what asks the command to end (default: TERM)"},
    {OptionId::signal_group,
     "signal-group",
     0,
     nothing,
     {},
     "send that signal to its whole process group"},
    {OptionId::descendants, "descendants", 0, value, "POLICY",
     "tree: everything it started ends (default);\n"
     "group: its process group ends, services that\n"
     "detached themselves stay; keep-on-success:\n"
     "after exit 0 nothing is ended, else as tree"},
    {OptionId::preserve,
     "preserve-descendants-on-success",
     0,
     nothing,
     {},
     "the same as --descendants keep-on-success"},
    {OptionId::receipt, "receipt", 0, value, "FILE", "write the cleanup receipt (JSON, four keys)",
     kRecords},
    {OptionId::report, "report", 0, value, "FILE", "write the full report (JSON)", kRecords},
    {OptionId::sync, "sync", 0, nothing, {}, "fsync both, and their directories"},
    {OptionId::stop_file, "stop-file", 0, value, "FILE",
     "stop as soon as this exists; if it is there\nalready, start nothing", kRecords},
    {OptionId::expire_file, "expire-file", 0, value, "FILE", "the same, but counts as the deadline",
     kRecords},
    {OptionId::output, "output", 'o', value, "FILE", "send the command's stdout and stderr there",
     kRecords},
    {OptionId::output_limit, "output-limit", 0, value, "BYTES",
     "keep the head and the tail of the output, half\n"
     "of BYTES each (KiB, MiB, GiB understood)"},
    {OptionId::shield, "shield", 0, optional_value, "try",
     "the command can signal only what it started,\n"
     "and ends for certain (Linux 6.12); =try: go on\nwithout where that cannot be had"},
    {OptionId::isolate, "isolate", 0, nothing, {}, "run the command in its own PID namespace"},
    {OptionId::no_new_privs, "no-new-privs", 0, nothing, {}, "no setuid programs in the command"},
    {OptionId::die_with_parent,
     "die-with-parent",
     0,
     nothing,
     {},
     "stop when whoever started us is gone"},
    {OptionId::chdir, "chdir", 'C', value, "DIR", "run the command in DIR"},
    {OptionId::setenv, "setenv", 'E', value, "NAME[=VALUE]",
     "set a variable for it, or pass ours on"},
    {OptionId::unset, "unset", 0, value, "NAME", "remove a variable for it"},
    {OptionId::clear_env, "clear-env", 0, nothing, {}, "start it with an empty environment"},
    {OptionId::rlimit, "rlimit", 0, value, "NAME=SOFT[:HARD]",
     "a resource limit for it, as in prlimit(1)"},
    {OptionId::user, "user", 0, value, "UID[:GID]", "run it as this user"},
    {OptionId::detach,
     "detach",
     'd',
     nothing,
     {},
     "return when the command runs, or did not start",
     kLaunch},
    {OptionId::lease, "lease", 0, value, "DURATION|stdin",
     "stop unless renewed this often, or when standard\ninput ends", kLaunch},
    {OptionId::command_fd, "command-fd", 0, value, "N",
     "read CMD and its environment from descriptor N", kLaunch},
    {OptionId::now, "now", 0, nothing, {}, "without the grace", kStop},
    {OptionId::json, "json", 0, nothing, {}, "as JSON", kStatus | kProbe},
    {OptionId::legacy_names,
     "legacy-names",
     0,
     nothing,
     {},
     "runner.pid, runner.stop, runner.log",
     kSessions},
    {OptionId::quiet, "quiet", 'q', nothing, {}, "say nothing"},
    {OptionId::verbose, "verbose", 'v', nothing, {}, "say how it ended"},
    {OptionId::help, "help", 'h', nothing, {}, "this text", kAll},
};

constexpr const char* kCommandCodes =
    "\n"
    "Exit codes: CMD's own, or 128+N when it died of signal N;\n"
    "  122  stopped on request              125  quietus itself failed\n"
    "  123  cleanup could not be confirmed  126  CMD cannot be executed\n"
    "  124  deadline or expire file         127  CMD was not found\n";

constexpr const char* kStopCodes =
    "\nExit codes: 0 confirmed, 123 not confirmed, 125 not known (or not in time).\n";

constexpr VerbSpec kVerbs[] = {
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

std::span<const OptionSpec> option_table() { return kOptions; }
std::span<const VerbSpec> verb_table() { return kVerbs; }

}  // namespace quietus
