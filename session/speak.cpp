#include "session/speak.hpp"

namespace quietus {

int complain(sys::Gate& gate, int exit_code, std::string_view text) {
  // Nobody to read it: the exit code says it too.
  (void)sys::write_all(gate, 2, "quietus: " + std::string(text) + '\n');
  return exit_code;
}

int complain(sys::Gate& gate, int exit_code, std::string_view what, const sys::Error& error,
             std::string_view about) {
  return complain(gate, exit_code, std::string(what) + ": " + sys::errno_text(error.code, about));
}

void print_line(sys::Gate& gate, std::string_view text) {
  std::string line(text);
  if (!line.ends_with('\n')) line += '\n';
  (void)sys::write_all(gate, 1, line);
}

}  // namespace quietus
