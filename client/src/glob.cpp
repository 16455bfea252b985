#include "quietus/glob.hpp"

#include <algorithm>

namespace quietus {
namespace {

constexpr std::string_view kAnyDepth = "**";

std::vector<std::string_view> names_of(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    names.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return names;
}

bool is_inversion(char one) { return one == '!' || one == '^'; }

bool is_no_name(std::string_view name) { return name.empty() || name == "." || name == ".."; }

// The name that a pattern without wildcards stands for; none: it has wildcards.
std::optional<std::string> plain_name(std::string_view pattern) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) {
      name += pattern[++at];
    } else if (pattern[at] == '*' || pattern[at] == '?' || pattern[at] == '[') {
      return std::nullopt;
    } else {
      name += pattern[at];
    }
  }
  return name;
}

// One element of a pattern at its front: a set, an escape, ? or a byte. Whether it takes `byte`,
// and how long it is.
struct Taking {
  bool takes;
  std::size_t length;
};
Taking front_takes(std::string_view pattern, char byte) {
  if (pattern[0] == '?') return {true, 1};
  if (pattern[0] == '\\' && pattern.size() > 1) return {pattern[1] == byte, 2};
  if (pattern[0] != '[') return {pattern[0] == byte, 1};
  std::size_t at = 1;
  const bool inverted = at < pattern.size() && is_inversion(pattern[at]);
  if (inverted) ++at;
  bool found = false;
  for (bool first = true; at < pattern.size() && (first || pattern[at] != ']'); first = false) {
    const char low = pattern[at];
    char high = low;
    if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
      high = pattern[at + 2];
      at += 2;
    }
    ++at;
    const auto code = [](char one) { return static_cast<unsigned char>(one); };
    found = found || (code(low) <= code(byte) && code(byte) <= code(high));
  }
  return {found != inverted, at + 1};
}

// A set that is opened is closed: Glob::parse has looked.
bool sets_are_closed(std::string_view pattern) {
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '\\') {
      ++at;
    } else if (pattern[at] == '[') {
      const bool inverted = at + 1 < pattern.size() && is_inversion(pattern[at + 1]);
      const std::size_t start = at + (inverted ? 2 : 1);
      at = pattern.find(']', start + 1);
      if (at == std::string_view::npos) return false;
    }
  }
  return true;
}

// With one way back, to the last star: enough, and never worse than the product of the lengths.
bool matches_name(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::optional<std::size_t> star;
  std::size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
      continue;
    }
    if (p < pattern.size()) {
      const Taking one = front_takes(pattern.substr(p), name[n]);
      if (one.takes) {
        p += one.length;
        ++n;
        continue;
      }
    }
    if (!star) return false;
    p = *star + 1;
    n = ++star_name;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_names(const std::vector<std::string>& patterns,
                   const std::vector<std::string_view>& names) {
  // reached[n]: the patterns so far take the first n names.
  std::vector<char> reached(names.size() + 1, 0);
  reached[0] = 1;
  for (const std::string& pattern : patterns) {
    std::vector<char> next(names.size() + 1, 0);
    for (std::size_t n = 0; n <= names.size(); ++n) {
      if (pattern == kAnyDepth) {
        next[n] = static_cast<char>(reached[n] != 0 || (n > 0 && next[n - 1] != 0));
      } else if (n > 0) {
        next[n] = static_cast<char>(reached[n - 1] != 0 && matches_name(pattern, names[n - 1]));
      }
    }
    reached = std::move(next);
  }
  return reached.back() != 0;
}

}  // namespace

tl::expected<Glob, std::string> Glob::parse(std::string_view pattern) {
  if (!pattern.starts_with('/')) return tl::unexpected(std::string("must be absolute"));
  if (pattern.find('\0') != std::string_view::npos) {
    return tl::unexpected(std::string("must not hold a NUL byte"));
  }
  pattern.remove_prefix(1);
  if (pattern.ends_with('/')) pattern.remove_suffix(1);
  if (pattern.empty()) return tl::unexpected(std::string("must not be the root"));
  Glob glob;
  for (const std::string_view name : names_of(pattern)) {
    const std::optional<std::string> plain = plain_name(name);
    if (is_no_name(plain.value_or("*"))) {
      return tl::unexpected(std::string("must not have an empty name, . or .. in it"));
    }
    if (!sets_are_closed(name)) return tl::unexpected(std::string("has a [ without its ]"));
    if (plain && glob.patterns_.empty()) {
      glob.base_ += '/' + *plain;
    } else {
      glob.patterns_.emplace_back(name);
    }
  }
  if (glob.base_.empty()) glob.base_ = "/";
  return glob;
}

std::optional<std::size_t> Glob::depth() const {
  if (std::ranges::find(patterns_, kAnyDepth) != patterns_.end()) return std::nullopt;
  return patterns_.size();
}

std::optional<std::string> Glob::match(std::string_view path) const {
  if (literal()) return path == base_ ? std::optional<std::string>("") : std::nullopt;
  const std::string front = base_ == "/" ? base_ : base_ + '/';
  if (!path.starts_with(front)) return std::nullopt;
  const std::string_view rest = path.substr(front.size());
  if (rest.empty() || rest.ends_with('/')) return std::nullopt;
  const std::vector<std::string_view> names = names_of(rest);
  if (std::ranges::any_of(names, is_no_name) || !matches_names(patterns_, names)) {
    return std::nullopt;
  }
  return std::string(rest);
}

std::string glob_literal(std::string_view text) {
  constexpr std::string_view kSpecial = "*?[]\\";
  std::string pattern;
  for (const char one : text) {
    if (kSpecial.find(one) != std::string_view::npos) pattern += '\\';
    pattern += one;
  }
  return pattern;
}

std::vector<std::string> parse_listing(std::string_view listing) {
  std::vector<std::string> paths;
  while (!listing.empty()) {
    const std::size_t end = listing.find('\0');
    if (end == std::string_view::npos) break;  // cut off: half a name is no name
    paths.emplace_back(listing.substr(0, end));
    listing.remove_prefix(end + 1);
  }
  std::ranges::sort(paths);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace quietus
