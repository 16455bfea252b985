// Patterns for paths inside a sandbox. Pure.
//
// * is anything in one name, ? one byte, [a-c] and [!a-c] (or [^a-c]) one of a set, ** as a whole
// name any number of names, none included. Names that begin with a dot are names like any other:
// what a harness leaves must not be lost because of its name. \ takes the meaning from what
// follows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace quietus {

class Glob {
 public:
  // Absolute, without empty names, . and .. (one / at the end is dropped). The error is the rule.
  static tl::expected<Glob, std::string> parse(std::string_view pattern);

  // The longest path that every match lies at or below.
  [[nodiscard]] const std::string& base() const { return base_; }
  // No pattern in it: the one path that it names is base().
  [[nodiscard]] bool literal() const { return patterns_.empty(); }
  // How many names below base() a match can lie; none: any number.
  [[nodiscard]] std::optional<std::size_t> depth() const;

  // What lies behind base() in a path that matches: safe to put below any directory. None: the path
  // does not match, or is none (.., empty names).
  [[nodiscard]] std::optional<std::string> match(std::string_view path) const;

 private:
  std::string base_;
  std::vector<std::string> patterns_;  // the names behind base_
};

// The text as a pattern that matches only itself.
std::string glob_literal(std::string_view text);

// What `find ... -print0` says, sorted, each once.
std::vector<std::string> parse_listing(std::string_view listing);

}  // namespace quietus
