// Runs while the packages are built, on the machine that builds them: prints a completion, a list,
// or a manual page whose source comes on standard input.
#include <iostream>
#include <iterator>

#include "command.hpp"

namespace {
constexpr const char* kUsage =
    "usage: documents quietus|quietusctl bash|zsh|fish|list|manual <SOURCE\n";
}

int main(int argc, char** argv) {
  using namespace quietus::documents;
  const std::string_view name = argc == 3 ? argv[1] : "";
  const std::string_view wanted = argc == 3 ? argv[2] : "";
  const Command command = name == "quietusctl" ? quietusctl_command() : quietus_command();
  if (name != command.name) {
    std::cerr << kUsage;
    return 2;
  }
  if (wanted == "bash") {
    std::cout << bash_completion(command);
  } else if (wanted == "zsh") {
    std::cout << zsh_completion(command);
  } else if (wanted == "fish") {
    std::cout << fish_completion(command);
  } else if (wanted == "list") {
    std::cout << list(command);
  } else if (wanted == "manual") {
    const std::string source(std::istreambuf_iterator<char>(std::cin), {});
    std::cout << manual(command, source);
  } else {
    std::cerr << kUsage;
    return 2;
  }
  return std::cout.flush() ? 0 : 1;
}
