#include "cli/option_table.hpp"

#include <algorithm>

namespace quietus::cli {
namespace {

constexpr unsigned kSessions = bit(Verb::run) | bit(Verb::batch);
constexpr unsigned kSandboxes = kSessions | bit(Verb::exec) | bit(Verb::put) | bit(Verb::get) |
                                bit(Verb::doctor) | bit(Verb::bootstrap);
constexpr unsigned kLedger = bit(Verb::stop) | bit(Verb::status) | bit(Verb::list) | bit(Verb::gc);
constexpr unsigned kReaching = kSandboxes | kLedger;
constexpr unsigned kConfig = bit(Verb::config);
constexpr unsigned kAll = ~0u;

constexpr Takes value = Takes::value;
constexpr Takes nothing = Takes::nothing;

constexpr OptionSpec kOptions[] = {
    {OptionId::sandbox, "sandbox", 's', value, "S",
     "where: local, podman-image:IMAGE, ssh:HOST, ...;\n"
     "quietusctl help sandboxes has all forms.\n"
     "run takes more than one",
     kSandboxes | kConfig},
    {OptionId::adapter, "adapter", 'a', value, "F",
     "how to run a harness: a file, or the name of one\nthat is installed", bit(Verb::run)},
    {OptionId::parameter, "param", 'p', value, "NAME=VALUE", "a parameter of the adapter",
     bit(Verb::run)},
    {OptionId::input, "input", 'i', value, "FILE", "the adapter's input", bit(Verb::run)},
    {OptionId::timeout, "timeout", 't', value, "DURATION",
     "deadline of the command (default: none); of\n"
     "exec, put and get: of the call; stop and gc: how\nlong to wait for the end",
     (kReaching & ~bit(Verb::bootstrap)) | kConfig},
    {OptionId::close_timeout, "close-timeout", 'k', value, "DURATION",
     "bound of the whole cleanup: the grace after the\n"
     "signal, reaping and draining get a third each\n(default: 30s)",
     kSessions | kConfig},
    {OptionId::collect, "collect", 'c', value, "GLOB",
     "fetch these files of the sandbox when the\n"
     "command has ended; ** crosses folders",
     bit(Verb::run)},
    {OptionId::into, "into", 0, value, "DIR", "where they go", bit(Verb::run)},
    {OptionId::max_artifact, "max-artifact", 0, value, "SIZE",
     "no artifact larger than this, nor all of them\n"
     "together (default: 1GiB)",
     kSessions | bit(Verb::get) | kConfig},
    {OptionId::output_limit, "output-limit", 0, value, "SIZE",
     "keep the head and the tail of the output, half\nof SIZE each (default: 64MiB)",
     kSessions | kConfig},
    {OptionId::workdir, "workdir", 'C', value, "DIR", "run the command in DIR",
     bit(Verb::run) | bit(Verb::exec)},
    {OptionId::setenv, "setenv", 'E', value, "NAME[=VALUE]",
     "set a variable for it, or pass ours on", bit(Verb::run) | bit(Verb::exec)},
    {OptionId::user, "user", 0, value, "USER", "as this user, where the sandbox can",
     bit(Verb::exec)},
    {OptionId::shield, "shield", 0, value, "WHEN",
     "Landlock around the command: auto (in sandboxes\n"
     "of our own, where it can be had; default), off,\ntry, require",
     kSessions | kConfig},
    {OptionId::session_parent, "session-parent", 0, value, "DIR",
     "where session directories are made (default:\n/tmp)", kSessions | kConfig},
    {OptionId::payload, "payload", 0, value, "FILE",
     "the supervisor for the sandbox (default: the one\nthat was installed)", kReaching | kConfig},
    {OptionId::program, "program", 0, value, "TOOL=WORDS",
     "start these words instead of podman, ssh, ...", kReaching | kConfig},
    {OptionId::create_option, "create-option", 0, value, "WORD",
     "one more word for whatever makes the sandbox\n(podman run, salloc, bwrap)",
     kSandboxes | kConfig},
    {OptionId::parallel, "parallel", 'j', value, "N", "this many at once (default: 8)",
     kSessions | bit(Verb::gc) | kConfig},
    {OptionId::follow,
     "follow",
     'f',
     nothing,
     {},
     "show the output while it comes",
     bit(Verb::run)},
    {OptionId::now, "now", 0, nothing, {}, "without the grace", bit(Verb::stop)},
    {OptionId::dry_run,
     "dry-run",
     'n',
     nothing,
     {},
     "only say what would be done",
     bit(Verb::gc) | bit(Verb::bootstrap) | bit(Verb::cache)},
    {OptionId::print_path,
     "print-path",
     0,
     nothing,
     {},
     "print its path in the sandbox, and nothing else",
     bit(Verb::bootstrap)},
    {OptionId::directory, "directory", 'd', value, "DIR",
     "put it there; more than one: where it runs\n(default: /tmp, /var/tmp, /dev/shm, /run, /opt)",
     bit(Verb::bootstrap)},
    {OptionId::allow_unverified,
     "allow-unverified",
     0,
     nothing,
     {},
     "also download what no digest is known of;\nit is recorded",
     bit(Verb::bootstrap)},
    {OptionId::all, "all", 0, nothing, {}, "prune: every entry", bit(Verb::cache)},
    {OptionId::forget, "forget", 0, value, "SESSION",
     "give up a session that cannot be confirmed:\n"
     "remove its directory, where it can be reached,\nand its entry",
     bit(Verb::gc)},
    {OptionId::origin, "origin", 0, nothing, {}, "where each value came from", kConfig},
    {OptionId::json, "json", 0, nothing, {}, "as JSON", kAll},
    {OptionId::quiet, "quiet", 'q', nothing, {}, "errors only", kAll},
    {OptionId::verbose,
     "verbose",
     'v',
     nothing,
     {},
     "say how it ended, also without a terminal",
     kAll},
    {OptionId::help, "help", 'h', nothing, {}, "this text", kAll},
};

constexpr std::string_view kRunCodes =
    "\n"
    "Exit codes: CMD's own, or 128+N when it died of signal N;\n"
    "  122  stopped on request              125  quietusctl or the sandbox failed\n"
    "  123  cleanup could not be confirmed  126  CMD cannot be executed\n"
    "  124  deadline or expire request      127  CMD was not found\n"
    "With more than one sandbox those of batch. ^C stops the command, confirms and\n"
    "collects; a second one skips the grace.\n";

constexpr std::string_view kBatchCodes =
    "\n"
    "A job is one JSON object a line: {\"command\": [...]} and, as it needs them,\n"
    "\"name\", \"sandbox\", \"timeout\", \"workdir\", \"environment\", \"collect\", \"into\".\n"
    "One JSON line comes back for each, as they end.\n"
    "\n"
    "Exit codes: 0 every job exited with 0; 1 one did not; 122 stopped on request;\n"
    "  123 a cleanup could not be confirmed; 125 a session failed.\n";

constexpr std::string_view kStopCodes =
    "\nExit codes: 0 confirmed, 123 not confirmed, 125 not known (or not in time).\n";

constexpr std::string_view kExecCodes =
    "\n"
    "For looking around: nothing supervises CMD. Exit codes: CMD's own; 124 not in\n"
    "time; 125 quietusctl or the sandbox failed.\n";

constexpr VerbSpec kVerbs[] = {
    {Verb::run, "run", 0, kCommand, "--sandbox S [OPTIONS] [--] CMD...",
     "Run CMD in a sandbox: bring in the supervisor, launch, confirm the end, fetch\n"
     "the artifacts, leave nothing behind.",
     kRunCodes},
    {Verb::batch, "batch", 1, 1, "FILE [OPTIONS]", "Run many sessions; - reads standard input.",
     kBatchCodes},
    {Verb::exec, "exec", 1, kCommand, "--sandbox S [OPTIONS] [--] CMD...",
     "Run CMD in a sandbox as its own tool would.", kExecCodes},
    {Verb::put,
     "put",
     2,
     2,
     "--sandbox S [OPTIONS] LOCAL INSIDE",
     "Copy a file or tree into a sandbox; whole or not at all.",
     {}},
    {Verb::get,
     "get",
     2,
     2,
     "--sandbox S [OPTIONS] INSIDE LOCAL",
     "Copy a file or tree out of a sandbox; whole or not at all.",
     {}},
    {Verb::stop, "stop", 0, 1, "[SESSION] [OPTIONS]",
     "Stop a session and print its receipt; its controller, if it lives, collects\n"
     "and releases. SESSION is the beginning of a name that list shows.",
     kStopCodes},
    {Verb::status, "status", 0, 1, "[SESSION] [OPTIONS]", "Show what runs in a session.", {}},
    {Verb::list, "list", 0, 0, "[OPTIONS]", "Show the sessions in the ledger.", {}},
    {Verb::gc, "gc", 0, 0, "[OPTIONS]", "End and release the sessions whose controller is gone.",
     "\n"
     "Exit codes: 0 all released; 123 one cannot be confirmed; 125 one could not be\n"
     "reached or read. What is not released stays in the ledger.\n"},
    {Verb::receipt, "receipt", 1, 1, "FILE [OPTIONS]",
     "Explain a receipt or report; - reads standard input.", kStopCodes},
    {Verb::doctor,
     "doctor",
     0,
     0,
     "--sandbox S [OPTIONS]",
     "Show how surely commands can be ended in a sandbox.",
     {}},
    {Verb::bootstrap, "bootstrap", 1, 1, "WHAT --sandbox S [OPTIONS]",
     "Put a program that runs there into a sandbox: supervisor, uv, or what a\n"
     "manifest describes (a file, or the name of one that is installed).",
     "\n"
     "QUIETUS_MIRROR is the base of a mirror, https:// or file://.\n"
     "Exit codes: 0 it runs there; 125 it does not, and the error says why; 2 wrong\n"
     "usage, or a manifest that is not right.\n"},
    {Verb::cache, "cache", 1, 1, "list|verify|prune [OPTIONS]",
     "Show the tools that were downloaded, check them, or remove what is damaged,\n"
     "half or unverified.",
     "\nExit codes: 0; 1 verify found a damaged one.\n"},
    {Verb::config, "config", 0, 0, "[OPTIONS]", "Show the settings.", {}},
    {Verb::version, "version", 0, 0, "[--json]", "Show the version.", {}},
    {Verb::help, "help", 0, 1, "[VERB | sandboxes]", "Show help.", {}},
};

}  // namespace

std::span<const OptionSpec> option_table() { return kOptions; }
std::span<const VerbSpec> verb_table() { return kVerbs; }

const VerbSpec& spec_of(Verb verb) {
  return *std::ranges::find_if(kVerbs, [&](const VerbSpec& spec) { return spec.verb == verb; });
}

}  // namespace quietus::cli
