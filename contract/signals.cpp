#include "contract/signals.hpp"

#include <csignal>

#include "contract/decimal.hpp"

namespace quietus {
namespace {

// The kernel's first real-time signal as programs know it: the C library keeps 32 and 33.
constexpr int kRealTimeMin = 34;
constexpr int kRealTimeMax = kLastSignal;

struct Name {
  std::string_view text;
  int number;
};

// Where a number has two names the first is the one that is printed.
constexpr Name kNames[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},       {"QUIT", SIGQUIT}, {"ILL", SIGILL},
    {"TRAP", SIGTRAP}, {"ABRT", SIGABRT},     {"BUS", SIGBUS},   {"FPE", SIGFPE},
    {"KILL", SIGKILL}, {"USR1", SIGUSR1},     {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},     {"TERM", SIGTERM}, {"STKFLT", SIGSTKFLT},
    {"CHLD", SIGCHLD}, {"CONT", SIGCONT},     {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},
    {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU},     {"URG", SIGURG},   {"XCPU", SIGXCPU},
    {"XFSZ", SIGXFSZ}, {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH},
    {"IO", SIGIO},     {"PWR", SIGPWR},       {"SYS", SIGSYS},   {"IOT", SIGABRT},
    {"POLL", SIGIO},   {"CLD", SIGCHLD},
};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::optional<int> in_range(int number) {
  if (number < 1 || number > kLastSignal) return std::nullopt;
  return number;
}

}  // namespace

std::optional<int> signal_number(std::string_view name) {
  if (const auto number = parse_decimal<int>(name)) return in_range(*number);
  const std::string wanted = upper(name);
  std::string_view text = wanted;
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (const Name& known : kNames) {
    if (known.text == text) return known.number;
  }
  if (text == "RTMIN") return kRealTimeMin;
  if (text == "RTMAX") return kRealTimeMax;
  const bool from_min = text.starts_with("RTMIN+");
  if (!from_min && !text.starts_with("RTMAX-")) return std::nullopt;
  const auto offset = parse_decimal<unsigned>(text.substr(6));
  if (!offset || *offset > kRealTimeMax - kRealTimeMin) return std::nullopt;
  return from_min ? kRealTimeMin + static_cast<int>(*offset)
                  : kRealTimeMax - static_cast<int>(*offset);
}

std::string signal_name(int number) {
  for (const Name& known : kNames) {
    if (known.number == number) return "SIG" + std::string(known.text);
  }
  if (number == kRealTimeMin) return "SIGRTMIN";
  if (number > kRealTimeMin && number <= kRealTimeMax) {
    return "SIGRTMIN+" + decimal(number - kRealTimeMin);
  }
  return "signal " + decimal(number);
}

}  // namespace quietus
