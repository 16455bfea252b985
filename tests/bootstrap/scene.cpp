#include "bootstrap/scene.hpp"

#include <algorithm>
#include <filesystem>

#include "client/bootstrap/digest.hpp"

namespace bootstrap_tests {
namespace {

namespace fs = std::filesystem;

constexpr double kBound = 300;

std::string test_name() {
  const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(info->test_suite_name()) + '.' + info->name();
}

}  // namespace

std::string musl_build(std::string_view machine) {
  const fs::path builds = fs::path(QUIETUS_BUILD_DIR).parent_path();
  return (builds / (machine == "x86_64" ? "musl" : "musl-aarch64") / "quietus").string();
}

std::string sha256_of_text(std::string_view text) { return sha256_of(text); }

std::vector<std::string> tree(const std::string& directory) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    std::string line = at->path().string();
    std::error_code ignored;
    if (at->is_regular_file(ignored)) line += ' ' + std::to_string(at->file_size(ignored));
    found.push_back(line);
  }
  std::ranges::sort(found);
  return found;
}

Scene::Scene() : watchdog_(test_name(), kBound) {}

}  // namespace bootstrap_tests
