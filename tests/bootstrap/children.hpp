// fetch_tool as a process, with what it printed.
#pragma once

#include <sys/types.h>

#include <string>

namespace bootstrap_tests {

class ToolFetch {
 public:
  ToolFetch() = default;
  ~ToolFetch();
  ToolFetch(const ToolFetch&) = delete;
  ToolFetch& operator=(const ToolFetch&) = delete;

  void start(const std::string& manifest, const std::string& cache);
  void signal(int number) const;
  // The exit code, or -N for death by signal N.
  int wait();
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  pid_t pid_ = 0;
  int out_ = -1;
  std::string output_;
};

}  // namespace bootstrap_tests
