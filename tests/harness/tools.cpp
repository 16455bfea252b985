#include "harness/tools.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace harness {

namespace {

std::string chosen(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return std::filesystem::absolute(value != nullptr ? value : fallback).string();
}

}  // namespace

std::string quietus_binary() { return chosen("QUIETUS_BINARY", QUIETUS_BINARY_DEFAULT); }
std::string actor_binary() { return chosen("QUIETUS_ACTOR", QUIETUS_ACTOR_DEFAULT); }
std::string deny_binary() { return chosen("QUIETUS_DENY", QUIETUS_DENY_DEFAULT); }
std::string schema_path() { return chosen("QUIETUS_SCHEMA", QUIETUS_SCHEMA_DEFAULT); }

Words wrapper() {
  const char* text = std::getenv("QUIETUS_WRAPPER");
  return text == nullptr ? Words{} : split(text, ' ');
}

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Words split(std::string_view text, char separator) {
  Words words;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    const std::string_view word = text.substr(0, end);
    if (!word.empty()) words.emplace_back(word);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

std::string read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "";
  std::string text;
  char buffer[1 << 16];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, size_t(got));
  close(fd);
  return text;
}

void write_file(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, text.data(), text.size()) != ssize_t(text.size())) {
    throw std::runtime_error("cannot write " + path);
  }
  close(fd);
}

bool exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

bool eventually(const std::function<bool()>& condition, double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (Clock::now() >= end) return condition();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string argv_hash(const Words& words) {
  uint64_t hash = 14695981039346656037u;
  for (const std::string& word : words) {
    for (size_t i = 0; i <= word.size(); ++i) {
      hash = (hash ^ static_cast<unsigned char>(word.c_str()[i])) * 1099511628211u;
    }
  }
  char text[32];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace harness
