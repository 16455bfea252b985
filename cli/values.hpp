// Values as people type them. Pure. The errors are rules, ready for "must be ...".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace quietus::cli {

// What is wrong with a command line, a variable or a file: one line, without the program's name.
struct UsageError {
  std::string text;
};

template <class T>
using Parsed = tl::expected<T, std::string_view>;

Parsed<std::uint64_t> parse_size(std::string_view text);
Parsed<int> parse_parallel(std::string_view text);

// Words at blanks; no quotes are known.
std::vector<std::string> split_words(std::string_view text);

// Cut, quoted and without control characters: a value may hold a secret, or a megabyte.
std::string shown_value(std::string_view value);

// "argument --timeout: must be RULE, not 'VALUE'": `where` is an option, a variable or a file.
UsageError broken(std::string_view where, std::string_view value, std::string_view rule);

// 1536 -> "1.5 KiB": for people.
std::string size_text(std::uint64_t bytes);
// 83.4 -> "1 m 23 s": for people.
std::string duration_text(double seconds);

}  // namespace quietus::cli
