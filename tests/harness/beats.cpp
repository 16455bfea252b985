#include "harness/beats.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "harness/tools.hpp"

namespace harness {

namespace {

constexpr size_t kSlots = 512;
constexpr size_t kBytes = kSlots * sizeof(uint64_t);

// A beater counts every 5 ms; this is how long it may be kept from its turn.
constexpr auto kSilence = std::chrono::milliseconds(150);

}  // namespace

Beats::Beats(std::string path) : path_(std::move(path)) {
  const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 || fchmod(fd, 0666) != 0 || ftruncate(fd, kBytes) != 0) {
    throw std::runtime_error("cannot make " + path_);
  }
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot map " + path_);
  page_ = static_cast<uint64_t*>(mapped);
}

Beats::~Beats() { munmap(page_, kBytes); }

uint64_t Beats::count(int slot) const { return __atomic_load_n(&page_[slot], __ATOMIC_RELAXED); }

bool Beats::alive(int slot, double seconds) const {
  const uint64_t before = count(slot);
  return eventually([&] { return count(slot) != before; }, seconds);
}

bool Beats::gone(int slot) const { return count(slot) > 0 && still(slot); }

bool Beats::still(int slot) const {
  const uint64_t before = count(slot);
  std::this_thread::sleep_for(kSilence);
  return count(slot) == before;
}

bool Beats::all_still() const {
  const std::vector<uint64_t> before(page_, page_ + kSlots);
  std::this_thread::sleep_for(kSilence);
  return std::equal(before.begin(), before.end(), page_);
}

bool Beats::reaches(int slot, uint64_t wanted, double seconds) const {
  return eventually([&] { return count(slot) >= wanted; }, seconds);
}

}  // namespace harness
