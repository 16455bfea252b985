// Patterns of artifacts: *, ? and [...] within a name, ** across folders. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quietus::cli {

struct Pattern {
  std::string folder;  // before the first wildcard; absolute, without a slash at its end ("" is /)
  std::string rest;    // what a path below the folder must match; empty: no wildcard at all
  std::string under;   // where it lies below the destination: the relative part before a wildcard
  int depth = 0;       // how many folders deep a match can lie; 0: any depth
};

// `workdir` is where a relative pattern begins. There is no ".." in it.
Pattern parse_pattern(std::string_view glob, std::string_view workdir);

// Whether a relative path matches; a leading dot is matched like any other character.
bool matches(std::string_view pattern, std::string_view path);

// The path below `folder`, if it is one that may be made below a destination: not empty, and
// without "", "." and "..".
std::optional<std::string> path_below(std::string_view folder, std::string_view path);

}  // namespace quietus::cli
