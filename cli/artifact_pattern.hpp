// Where a pattern of artifacts looks, and where what it matches goes. Pure.
#pragma once

#include <string>
#include <string_view>

#include "quietus/glob.hpp"

namespace quietus::cli {

struct Pattern {
  Glob glob;          // absolute
  std::string under;  // below the destination: of a relative pattern the part before a wildcard
};

// `workdir` is where a relative pattern begins; which it is plays no part in whether the pattern is
// one. The error is the rule.
tl::expected<Pattern, std::string> parse_pattern(std::string_view glob,
                                                 std::string_view workdir = "/workdir");

}  // namespace quietus::cli
