#include "cli/artifact_pattern.hpp"

#include <algorithm>

namespace quietus::cli {
namespace {

// With one slash before each name, and without names that say nothing: "//a/./b/" is "/a/b".
std::string tidy(std::string_view path) {
  std::string tidied;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (!name.empty() && name != ".") (tidied += '/') += name;
    path.remove_prefix(std::min(name.size() + 1, path.size()));
  }
  return tidied;
}

}  // namespace

tl::expected<Pattern, std::string> parse_pattern(std::string_view glob, std::string_view workdir) {
  const bool relative = !glob.starts_with('/');
  const std::string start = relative ? tidy(workdir) : std::string();
  if (glob.empty()) return tl::unexpected(std::string("must not be empty"));
  const std::string whole = glob_literal(start) + tidy(glob);
  auto parsed = Glob::parse(whole.empty() ? "/" : whole);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  Pattern pattern{.glob = std::move(*parsed), .under = {}};
  const std::string& base = pattern.glob.base();
  if (relative && base.size() > start.size() + 1) pattern.under = base.substr(start.size() + 1);
  return pattern;
}

}  // namespace quietus::cli
