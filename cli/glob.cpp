#include "cli/glob.hpp"

#include <algorithm>
#include <vector>

namespace quietus::cli {
namespace {

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0 && path.substr(0, slash) != ".") parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

bool has_wildcard(std::string_view part) { return part.find_first_of("*?[") != part.npos; }

struct Class {
  bool known = false;  // it is one: it has an end
  bool matches = false;
  std::size_t length = 0;
};

// [abc], [a-z], [!a-z]; a ] that comes first stands for itself.
Class match_class(std::string_view pattern, char c) {
  std::size_t at = 1;
  const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (negated) ++at;
  bool found = false;
  for (bool first = true; at < pattern.size(); first = false) {
    if (pattern[at] == ']' && !first) return {true, found != negated, at + 1};
    const char low = pattern[at];
    char high = low;
    if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
      high = pattern[at + 2];
      at += 3;
    } else {
      ++at;
    }
    found = found || (low <= c && c <= high);
  }
  return {};
}

// One name. Going back to the last star is enough, so this takes at most length times length.
bool match_name(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = pattern.npos;
  std::size_t after_star = 0;
  while (n < name.size()) {
    std::size_t taken = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
      continue;
    }
    if (p < pattern.size()) {
      const Class set = pattern[p] == '[' ? match_class(pattern.substr(p), name[n]) : Class{};
      if (set.known) {
        if (set.matches) taken = set.length;
      } else if (pattern[p] == '?' || pattern[p] == name[n]) {
        taken = 1;
      }
    }
    if (taken > 0) {
      p += taken;
      ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

Pattern parse_pattern(std::string_view glob, std::string_view workdir) {
  Pattern pattern;
  const bool relative = !glob.starts_with('/');
  if (relative) {
    for (const std::string_view part : parts_of(workdir)) (pattern.folder += '/') += part;
  }
  bool in_rest = false;
  bool any_depth = false;
  for (const std::string_view part : parts_of(glob)) {
    in_rest = in_rest || has_wildcard(part);
    if (!in_rest) {
      (pattern.folder += '/') += part;
      if (relative) (pattern.under += pattern.under.empty() ? "" : "/") += part;
      continue;
    }
    (pattern.rest += pattern.rest.empty() ? "" : "/") += part;
    ++pattern.depth;
    any_depth = any_depth || part == "**";
  }
  if (any_depth) pattern.depth = 0;
  return pattern;
}

bool matches(std::string_view pattern, std::string_view path) {
  const auto wanted = parts_of(pattern);
  const auto given = parts_of(path);
  // possible[i]: the parts so far match the first i of the pattern.
  std::vector<bool> possible(wanted.size() + 1);
  possible[0] = true;
  const auto skip_stars = [&] {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (possible[i] && wanted[i] == "**") possible[i + 1] = true;
    }
  };
  skip_stars();
  for (const std::string_view part : given) {
    std::vector<bool> next(wanted.size() + 1);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!possible[i]) continue;
      if (wanted[i] == "**") {
        next[i] = true;
      } else if (match_name(wanted[i], part)) {
        next[i + 1] = true;
      }
    }
    possible = std::move(next);
    skip_stars();
  }
  return possible.back();
}

std::optional<std::string> path_below(std::string_view folder, std::string_view path) {
  if (!path.starts_with(folder)) return std::nullopt;
  path.remove_prefix(folder.size());
  if (!path.starts_with('/')) return std::nullopt;
  path.remove_prefix(1);
  if (path.empty() || path.find('\0') != path.npos) return std::nullopt;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return std::nullopt;
    at = end + 1;
  }
  return std::string(path);
}

}  // namespace quietus::cli
