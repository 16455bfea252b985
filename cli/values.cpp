#include "cli/values.hpp"

#include <algorithm>
#include <cstdio>

#include "contract/decimal.hpp"

namespace quietus::cli {
namespace {

constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 50;
constexpr int kMostParallel = 10000;

std::string with_one_digit(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

}  // namespace

Parsed<std::uint64_t> parse_size(std::string_view text) {
  struct Unit {
    std::string_view suffix;
    int shift;
  };
  constexpr Unit kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40},
                             {"K", 10},   {"M", 20},   {"G", 30},   {"T", 40}};
  int shift = 0;
  for (const Unit& known : kUnits) {
    if (!text.ends_with(known.suffix)) continue;
    shift = known.shift;
    text.remove_suffix(known.suffix.size());
    break;
  }
  const auto count = parse_decimal<std::uint64_t>(text);
  if (!count || *count == 0 || *count > kLargestSize >> shift) {
    return tl::unexpected(std::string_view(
        "a number of bytes from 1 to 1024TiB, with or without KiB, MiB, GiB, TiB"));
  }
  return *count << shift;
}

Parsed<int> parse_parallel(std::string_view text) {
  const auto count = parse_decimal<int>(text);
  if (!count || *count < 1 || *count > kMostParallel) {
    return tl::unexpected(std::string_view("a number from 1 to 10000"));
  }
  return *count;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string shown_value(std::string_view value) {
  constexpr std::size_t kShown = 80;
  std::string text = "'";
  for (const char c : value.substr(0, kShown)) text += c >= ' ' && c != '\x7F' ? c : '?';
  if (value.size() > kShown) text += "...";
  return text += '\'';
}

UsageError broken(std::string_view where, std::string_view value, std::string_view rule) {
  return {std::string(where) + ": must be " + std::string(rule) + ", not " + shown_value(value)};
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= 1024 && unit + 1 < std::size(kUnits)) {
    number /= 1024;
    ++unit;
  }
  return (unit == 0 ? decimal(bytes) : with_one_digit(number)) + ' ' + kUnits[unit];
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0)) seconds = 0;
  if (seconds < 60) return with_one_digit(seconds) + " s";
  constexpr double kLongest = 1e12;
  const auto whole = static_cast<std::int64_t>(std::min(seconds, kLongest));
  const std::int64_t hours = whole / 3600;
  const std::string minutes = decimal(whole / 60 % 60) + " m";
  if (hours == 0) return minutes + ' ' + decimal(whole % 60) + " s";
  return decimal(hours) + " h " + minutes;
}

}  // namespace quietus::cli
