// Why a text is not to be given to toml++: it is no TOML, or it has what the release 3.3, Debian's,
// takes for granted that nobody writes. What passes is safe to parse there, and parses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quietus {

struct TomlFault {
  std::uint32_t line = 0;
  std::string rule;  // on one line
};

// The first one. Pure.
std::optional<TomlFault> find_toml_fault(std::string_view toml);

}  // namespace quietus
