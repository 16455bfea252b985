#include "session/upstream.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>

#include "contract/decimal.hpp"
#include "kernel/process_table.hpp"
#include "session/identity_reader.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr Span kLook = 50ms;      // only where there is no pidfd, or nothing yet to hold
constexpr Span kClaimToPid = 2s;  // between the two a shell does nothing but write a number
constexpr std::size_t kCommandLine = std::size_t{2} << 20;

struct PidFile {
  int pid = 0;
  std::int64_t written_ns = 0;  // on the wall clock
};

std::optional<PidFile> read_pid_file(sys::Gate& gate, const SessionDirectory& directory) {
  auto file =
      sys::open_at(gate, directory.fd(), directory.files().pid, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return std::nullopt;
  char text[32];
  const auto got = sys::read(gate, file->get(), text);
  const auto status = sys::fstat(gate, file->get());
  if (!got || !status) return std::nullopt;
  std::string_view digits(text, *got);
  while (digits.ends_with('\n') || digits.ends_with(' ')) digits.remove_suffix(1);
  const auto pid = parse_decimal<int>(digits);
  if (!pid || *pid <= 1) return std::nullopt;
  const std::uint64_t written = static_cast<std::uint64_t>(status->st_mtim.tv_sec) * 1000000000 +
                                static_cast<std::uint64_t>(status->st_mtim.tv_nsec);
  return PidFile{*pid, static_cast<std::int64_t>(written)};
}

// Both on the wall clock, so that a second process with the number, born later, is told apart.
bool started_before(sys::Gate& gate, const sys::StatRow& row, std::int64_t wall_ns) {
  constexpr std::int64_t kTickNs = 10000000;         // USER_HZ is 100 everywhere
  constexpr std::int64_t kToleranceNs = 1000000000;  // the wall clock may have been set a little
  const auto uptime = sys::uptime(gate);
  if (!uptime) return false;
  const std::int64_t age = uptime->count() - static_cast<std::int64_t>(row.start_ticks) * kTickNs;
  return sys::wall_clock_ns(gate) - age - kToleranceNs <= wall_ns;
}

bool names_directory(sys::Gate& gate, int pid, const std::string& path) {
  const std::string file = "/proc/" + decimal(pid) + "/cmdline";
  const auto line = sys::read_file(gate, file.c_str(), kCommandLine);
  return line && line->find(path) != std::string::npos;
}

// Until this very process has ended. False: time was over first.
bool await_end(sys::Gate& gate, const sys::StatRow& row, const sys::UniqueFd& held,
               Deadline deadline) {
  Moment now = sys::now(gate);
  for (;;) {
    const auto again = sys::read_stat(gate, row.pid);
    if (!again || again->start_ticks != row.start_ticks || again->state == 'Z') return true;
    if (deadline.passed(now)) return false;
    pollfd fd{.fd = held.get(), .events = POLLIN, .revents = 0};
    const auto limit = held ? deadline : earlier(deadline, Deadline::after(now, kLook));
    const auto ready = sys::poll(gate, {&fd, held ? 1u : 0u}, limit.left(now));
    if (!ready && ready.error().code != EINTR) (void)sys::sleep(gate, kLook);
    now = sys::now(gate, now);
  }
}

}  // namespace

UpstreamStop stop_upstream(sys::Gate& gate, const SessionDirectory& directory, Deadline deadline) {
  UpstreamStop result;
  std::optional<PidFile> named = read_pid_file(gate, directory);
  const Deadline soon = earlier(deadline, Deadline::after(sys::now(gate), kClaimToPid));
  while (!named && !soon.passed(sys::now(gate))) {
    if ((result.receipt = directory.receipt(gate))) return result;
    (void)sys::sleep(gate, kLook);
    named = read_pid_file(gate, directory);
  }
  if (named) {
    const auto held = sys::open_pidfd(gate, named->pid);
    const auto row = sys::read_stat(gate, named->pid);
    if (row && started_before(gate, *row, named->written_ns)) {
      // Held, or seen a moment ago with a start time that fits.
      if (names_directory(gate, named->pid, directory.path())) {
        (void)(held ? sys::signal_pidfd(gate, held->get(), SIGTERM)
                    : sys::kill(gate, named->pid, SIGTERM));
      }
      const sys::UniqueFd none;
      result.alive = !await_end(gate, *row, held ? *held : none, deadline);
    }
  }
  result.receipt = directory.receipt(gate);
  return result;
}

UpstreamStop wait_for_named(sys::Gate& gate, const SessionDirectory& directory, Deadline deadline) {
  UpstreamStop result;
  for (const NamedHalf& half : read_identity(gate, directory).halves) {
    const auto held = sys::open_pidfd(gate, half.pid);
    const auto row = sys::read_stat(gate, half.pid);
    if (!row || row->start_ticks != half.start_ticks) continue;
    const sys::UniqueFd none;
    if (!await_end(gate, *row, held ? *held : none, deadline)) result.alive = true;
  }
  result.receipt = directory.receipt(gate);
  return result;
}

}  // namespace quietus
