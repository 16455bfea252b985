// Where the programs are that the tests drive, and the small words that all of them use.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

// Environment QUIETUS_BINARY, else the one of this build. Absolute.
std::string quietus_binary();
std::string actor_binary();
std::string deny_binary();
std::string schema_path();

// QUIETUS_WRAPPER, split at blanks: stands before quietus wherever a test starts it.
Words wrapper();

Words operator+(Words left, const Words& right);
Words split(std::string_view text, char separator);
std::string read_file(const std::string& path);  // "" where there is none; never blocks on a fifo
void write_file(const std::string& path, std::string_view text);
bool exists(const std::string& path);  // of any kind, dangling links too

// Asks every millisecond or so, for at most the given seconds.
bool eventually(const std::function<bool()>& condition, double seconds = 15);

double seconds_since(Clock::time_point start);

// FNV-1a over every word with its closing zero: what the actor records of its own argv.
std::string argv_hash(const Words& words);

}  // namespace harness
