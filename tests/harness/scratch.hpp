// A directory of its own for one test, open to every uid, gone when the test ends.
#pragma once

#include <string>
#include <string_view>

namespace harness {

class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string path(std::string_view name) const;

 private:
  std::string directory_;
};

}  // namespace harness
