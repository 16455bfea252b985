// Other programs, as the tests start them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bootstrap_tests {

class Child {
 public:
  Child() = default;
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Standard error goes to `output` too, unless it is kept apart. Throws where there is no program.
  enum class Errors { with_output, apart };
  void start(std::vector<std::string> argv, Errors errors = Errors::with_output);
  void signal(int number) const;
  // Waits for a whole line with the text in it; what stands behind that. None: it ended without.
  std::optional<std::string> line_behind(std::string_view text);
  // The exit code, or -N for death by signal N.
  int wait();
  [[nodiscard]] const std::string& output() const { return output_; }
  [[nodiscard]] const std::string& errors() const { return errors_; }

 private:
  // False: nothing more comes.
  bool read_some();

  pid_t pid_ = 0;
  int out_ = -1;
  int err_ = -1;
  std::string output_;
  std::string errors_;
};

// fetch_tool as a process.
class ToolFetch : public Child {
 public:
  void start(const std::string& manifest, const std::string& cache) {
    Child::start({FETCH_TOOL, manifest, cache});
  }
};

// Runs a program of this machine to its end.
struct ToolRun {
  bool worked = false;  // it exited with 0
  int code = -1;
  std::string out = {};
  std::string err = {};  // only where it was kept apart
};
ToolRun run_tool(const std::vector<std::string>& argv,
                 Child::Errors errors = Child::Errors::with_output);

}  // namespace bootstrap_tests
