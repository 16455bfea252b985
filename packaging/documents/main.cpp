// Runs while the packages are built, on the machine that builds them: prints a completion, a list,
// or a manual page whose source comes on standard input.
#include <iostream>
#include <iterator>

#include "command.hpp"

int main(int argc, char** argv) {
  using namespace quietus::documents;
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  const Command command = quietus_command();
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
    std::cerr << "usage: documents bash|zsh|fish|list|manual <SOURCE\n";
    return 2;
  }
  return std::cout.flush() ? 0 : 1;
}
