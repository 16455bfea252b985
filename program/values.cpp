#include "program/values.hpp"

#include <sys/resource.h>

#include "contract/decimal.hpp"
#include "contract/signals.hpp"

namespace quietus {
namespace {

constexpr std::uint64_t kLargestOutput = std::uint64_t{1} << 30;

struct Resource {
  std::string_view name;
  int number;
};

constexpr Resource kResources[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
    {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK},
};

std::optional<std::uint64_t> limit_value(std::string_view text) {
  if (text == "unlimited" || text == "infinity") return RLIM_INFINITY;
  return parse_decimal<std::uint64_t>(text);
}

}  // namespace

Parsed<int> parse_signal(std::string_view text) {
  const auto number = signal_number(text);
  if (!number) return tl::unexpected(std::string_view("a signal name or a number from 1 to 64"));
  return *number;
}

Parsed<Descendants> parse_descendants(std::string_view text) {
  for (const auto policy : {Descendants::tree, Descendants::group, Descendants::keep_on_success}) {
    if (text == name(policy)) return policy;
  }
  return tl::unexpected(std::string_view("tree, group or keep-on-success"));
}

Parsed<std::uint64_t> parse_size(std::string_view text) {
  struct Unit {
    std::string_view suffix;
    std::uint64_t bytes;
  };
  constexpr Unit kUnits[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
                             {"K", 1 << 10},   {"M", 1 << 20},   {"G", 1 << 30}};
  std::uint64_t unit = 1;
  for (const Unit& known : kUnits) {
    if (!text.ends_with(known.suffix)) continue;
    unit = known.bytes;
    text.remove_suffix(known.suffix.size());
    break;
  }
  const auto count = parse_decimal<std::uint64_t>(text);
  if (!count || *count == 0 || *count > kLargestOutput / unit) {
    return tl::unexpected(
        std::string_view("a number of bytes from 1 to 1GiB, with or without KiB, MiB or GiB"));
  }
  return *count * unit;
}

Parsed<ResourceLimit> parse_limit(std::string_view text) {
  constexpr std::string_view kRule =
      "NAME=SOFT[:HARD] with a name of prlimit(1) and SOFT at most HARD";
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return tl::unexpected(kRule);
  const std::string_view name = text.substr(0, equals);
  const std::string_view values = text.substr(equals + 1);
  const std::size_t colon = values.find(':');
  const auto soft = limit_value(values.substr(0, colon));
  const auto hard = colon == std::string_view::npos ? soft : limit_value(values.substr(colon + 1));
  if (!soft || !hard || *soft > *hard) return tl::unexpected(kRule);
  for (const Resource& known : kResources) {
    if (known.name == name) return ResourceLimit{known.number, *soft, *hard};
  }
  return tl::unexpected(kRule);
}

Parsed<User> parse_user(std::string_view text) {
  constexpr std::string_view kRule = "UID[:GID], numbers from 0 to 4294967294";
  constexpr unsigned kNobodyAtAll = ~0u;  // -1 means "leave it" to setresuid(2)
  const std::size_t colon = text.find(':');
  const auto uid = parse_decimal<unsigned>(text.substr(0, colon));
  if (!uid || *uid == kNobodyAtAll) return tl::unexpected(kRule);
  if (colon == std::string_view::npos) return User{*uid, std::nullopt};
  const auto gid = parse_decimal<unsigned>(text.substr(colon + 1));
  if (!gid || *gid == kNobodyAtAll) return tl::unexpected(kRule);
  return User{*uid, *gid};
}

}  // namespace quietus
