// Names for requests: two requests of one kind differ only in numbers. The kind is the system call
// together with what tells its uses apart: the option of prctl and fcntl, the target of kill, the
// class of a path, what a descriptor refers to.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "faults/facts.hpp"
#include "kernel/gate.hpp"

namespace faults {

// What the descriptors of one process refer to, as far as it opened them through the gate. Copied
// at a fork together with the descriptors themselves.
class Descriptors {
 public:
  static constexpr int kText = 40;

  explicit Descriptors(std::string_view scratch) : scratch_(scratch) {}

  [[nodiscard]] const char* name(long fd) const;
  // Takes note of what a request that worked has opened or copied.
  void note(const quietus::sys::Request& request, long answer);
  [[nodiscard]] std::string_view scratch() const { return scratch_; }

 private:
  using Text = std::array<char, kText>;
  void set(long fd, const char* text);

  std::string_view scratch_;
  std::array<Text, 128> names_{};
  int pipes_ = 0;
};

// Writes the kind's name, ended by zero. Async-signal-safe.
void describe(const quietus::sys::Request& request, const Descriptors& descriptors,
              char (&name)[kKindText]);

std::uint64_t hash(const char* name);  // never 0

// The name of a system call that the half uses; "" for any other.
const char* call_name(long number);

}  // namespace faults
