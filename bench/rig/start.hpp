// Starting one supervisor, and the page of its worker.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "options.hpp"
#include "slots.hpp"

namespace bench {

[[noreturn]] void die(const std::string& what);

// The text with "@I@" replaced by the number.
std::string numbered(const std::string& text, long number);

// A command whose words have their numbers, ready for exec.
class Command {
 public:
  Command(const Options& options, long number);
  [[nodiscard]] char* const* argv() const { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

// Starts it with no input, no output and default signals; what cannot be started ends the runner.
pid_t start(const Options& options, const Command& command);

// A fresh page at this path, mapped; where the path is empty, one that nobody else sees.
Slots* map_page(const std::string& path);
void unmap_page(Slots* page, const std::string& path);

}  // namespace bench
