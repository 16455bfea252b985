// supervisor.id read back; see supervisor/identity.hpp for what it is worth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/directory.hpp"

namespace quietus {

struct NamedHalf {
  int pid = 0;
  std::uint64_t start_ticks = 0;
};

struct Identity {
  std::vector<NamedHalf> halves;  // guardian, supervisor; those without a start time are left out
  std::optional<Span> started;    // on the monotonic clock
  std::optional<Span> timeout;
};

Identity parse_identity(std::string_view json);
Identity read_identity(sys::Gate& gate, const SessionDirectory& directory);

}  // namespace quietus
