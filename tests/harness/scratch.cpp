#include "harness/scratch.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace harness {

Scratch::Scratch() {
  // The name shares no word with quietus or its options, so that a test which kills by pattern can
  // tell them apart.
  const std::filesystem::path parent = std::filesystem::temp_directory_path();
  std::string pattern = (parent / "scene-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  directory_ = pattern;
  chmod(directory_.c_str(), 0777);
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string Scratch::path(std::string_view name) const {
  return directory_ + "/" + std::string(name);
}

}  // namespace harness
