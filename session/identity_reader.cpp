#include "session/identity_reader.hpp"

#include <fcntl.h>

#include "contract/decimal.hpp"
#include "contract/duration.hpp"

namespace quietus {
namespace {

constexpr std::size_t kSmallFile = 4096;

// The number after `"key": `, and the text from there on. Our own writer's form is all we read.
std::optional<std::string_view> number_after(std::string_view& json, std::string_view key) {
  const std::string quoted = '"' + std::string(key) + "\": ";
  const std::size_t at = json.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  json.remove_prefix(at + quoted.size());
  return json.substr(0, json.find_first_not_of("0123456789."));
}

std::optional<Span> span_after(std::string_view json, std::string_view key) {
  const auto number = number_after(json, key);
  if (!number) return std::nullopt;
  const auto span = parse_duration(*number, Units::seconds);
  return span ? std::optional(*span) : std::nullopt;
}

}  // namespace

Identity parse_identity(std::string_view json) {
  Identity identity;
  identity.started = span_after(json, "started_monotonic");
  identity.timeout = span_after(json, "timeout_seconds");
  for (std::string_view rest = json;;) {
    const auto pid = number_after(rest, "pid");
    if (!pid) return identity;
    const auto ticks = number_after(rest, "start_ticks");
    if (!ticks) return identity;
    const auto number = parse_decimal<int>(*pid);
    const auto start = parse_decimal<std::uint64_t>(*ticks);
    if (number && start && *number > 0) identity.halves.push_back({*number, *start});
  }
}

Identity read_identity(sys::Gate& gate, const SessionDirectory& directory) {
  auto file = sys::open_at(gate, directory.fd(), directory.files().identity,
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return {};
  char text[kSmallFile];
  const auto got = sys::read(gate, file->get(), text);
  return got ? parse_identity({text, *got}) : Identity{};
}

}  // namespace quietus
