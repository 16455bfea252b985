#include "kernel/procfs.hpp"

#include "contract/decimal.hpp"

namespace quietus::sys {
namespace {

// Takes the text up to the separator off the front, and the separator too.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return head;
}

template <class T>
bool take_number(std::string_view& text, T& into) {
  const auto value = parse_decimal<T>(take(text, ' '));
  if (value) into = *value;
  return value.has_value();
}

}  // namespace

std::optional<StatRow> parse_stat(std::string_view bytes) {
  const std::size_t open = bytes.find('(');
  const std::size_t close = bytes.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 1 ||
      open < 2 || bytes.size() < close + 4) {
    return std::nullopt;
  }
  StatRow row;
  const auto pid = parse_decimal<int>(bytes.substr(0, open - 1));
  if (!pid || *pid <= 0) return std::nullopt;
  row.pid = *pid;
  row.comm = bytes.substr(open + 1, close - open - 1);
  row.state = bytes[close + 2];
  std::string_view rest = bytes.substr(close + 4);
  if (!take_number(rest, row.ppid) || !take_number(rest, row.pgid) || !take_number(rest, row.sid)) {
    return std::nullopt;
  }
  const auto skip = [&](int fields) {
    for (int field = 0; field < fields; ++field) take(rest, ' ');
  };
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  skip(7);  // fields 7 to 13; the times are fields 14 and 15
  if (!take_number(rest, user) || !take_number(rest, system)) return std::nullopt;
  row.cpu_ticks = user + system;
  skip(6);  // 16 to 21; the start time is field 22
  if (!take_number(rest, row.start_ticks)) return std::nullopt;
  return row;
}

std::vector<int> parse_children(std::string_view bytes) {
  std::vector<int> pids;
  while (!bytes.empty()) {
    const std::string_view word = take(bytes, ' ');
    if (word.empty() || word == "\n") continue;
    const auto pid = parse_decimal<int>(word);
    if (!pid || *pid <= 0) break;
    pids.push_back(*pid);
  }
  return pids;
}

std::optional<std::string_view> parse_cgroup_path(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view line = take(bytes, '\n');
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_effective_uid(std::string_view bytes) {
  while (!bytes.empty()) {
    std::string_view line = take(bytes, '\n');
    if (!line.starts_with("Uid:\t")) continue;
    line.remove_prefix(5);
    take(line, '\t');  // the real one
    return parse_decimal<std::int64_t>(take(line, '\t'));
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_status_size(std::string_view bytes, std::string_view name) {
  while (!bytes.empty()) {
    std::string_view line = take(bytes, '\n');
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    line.remove_prefix(line.find_first_of("0123456789", name.size()) == std::string_view::npos
                           ? line.size()
                           : line.find_first_of("0123456789", name.size()));
    return parse_decimal<std::int64_t>(take(line, ' '));
  }
  return std::nullopt;
}

std::string printable_command_line(std::string_view bytes, std::size_t limit) {
  while (bytes.ends_with('\0')) bytes.remove_suffix(1);
  std::string text(bytes.substr(0, limit));
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  if (bytes.size() > limit) text += "...";
  return text;
}

std::optional<unsigned> parse_primary_group(std::string_view passwd, unsigned uid) {
  while (!passwd.empty()) {
    std::string_view line = take(passwd, '\n');
    take(line, ':');  // name
    take(line, ':');  // password
    const auto row_uid = parse_decimal<unsigned>(take(line, ':'));
    if (!row_uid || *row_uid != uid) continue;
    return parse_decimal<unsigned>(take(line, ':'));
  }
  return std::nullopt;
}

}  // namespace quietus::sys
