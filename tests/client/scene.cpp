#include "client/scene.hpp"

#include <filesystem>

#include "harness/descendants.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// g++ comes without sanitizer/allocator_interface.h.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace client_tests {
namespace {

std::string test_name() {
  const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(info->test_suite_name()) + '.' + info->name();
}

}  // namespace

std::size_t open_descriptors() {
  const auto begin = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator()));
}

std::size_t memory_in_use() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return __sanitizer_get_current_allocated_bytes();
#else
  const std::string text = harness::read_file("/proc/self/statm");
  return std::stoul(text.substr(text.find(' '))) * 4096;
#endif
}

Scene::Scene(double bound) : watchdog_(test_name(), bound) {
  harness::become_subreaper();
  descriptors_before_ = open_descriptors();
  loop_.emplace();
}

Scene::~Scene() = default;

void Scene::TearDown() {
  // What is still suspended is destroyed with the loop, and must let go of all it holds.
  loop_.reset();
  // A process that was just being started is ended by the thread that starts it, which then lets
  // go.
  harness::eventually([&] { return open_descriptors() == descriptors_before_; }, 5);
  std::vector<harness::ProcessRow> left;
  // The halves of a supervisor may be on their last step.
  harness::eventually(
      [&] {
        left = harness::living_descendants();
        return left.empty();
      },
      5);
  for (const harness::ProcessRow& row : left) ADD_FAILURE() << "left behind: " << row.text();
  harness::mop_up();
  EXPECT_EQ(open_descriptors(), descriptors_before_) << "descriptors were left open";
}

bool Scene::until(const std::function<bool()>& condition, double seconds) {
  const auto begin = harness::Clock::now();
  while (!condition()) {
    if (harness::seconds_since(begin) > seconds) return false;
    if (loop_->stopped()) loop_->restart();
    loop_->run_one_for(10ms);
  }
  return true;
}

void Scene::turn(double seconds) {
  (void)until([] { return false; }, seconds);
}

}  // namespace client_tests
