// A limit of processes around everything that is started in it, whoever runs it: a control group of
// the pids controller. What breaks out of quietus does not break out of this.
#pragma once

#include <functional>
#include <string>

namespace storms {

class Pen {
 public:
  explicit Pen(int most);  // empty where the host has no pids controller that can be written
  ~Pen();
  Pen(const Pen&) = delete;
  Pen& operator=(const Pen&) = delete;

  [[nodiscard]] bool holds() const { return !group_.empty(); }
  // To be called in the child, between fork and exec.
  [[nodiscard]] std::function<void()> enter() const;
  [[nodiscard]] int population() const;

 private:
  std::string group_;
};

}  // namespace storms
