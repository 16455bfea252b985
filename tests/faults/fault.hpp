// One fault: which call of which kind goes wrong, and how.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "faults/facts.hpp"
#include "kernel/gate.hpp"

namespace faults {

enum class Way : std::uint8_t {
  refuse,   // answers with an errno, and does nothing
  pretend,  // answers that it worked, and does nothing
  shorten,  // does half of it: reads and writes of fewer bytes
};

struct Fault {
  std::string kind;
  std::optional<Role> role;  // counts only the calls of this process; none: those of all
  std::uint32_t nth = 1;     // the first is 1
  bool lasting = false;      // from then on, else once
  Way way = Way::refuse;
  int code = 0;  // refuse: the errno

  // As the command line takes it: "waitid(any,peek)/EIO/2/lasting/guardian".
  [[nodiscard]] std::string text() const;
  static std::optional<Fault> parse(std::string_view text);
};

// The errnos that a kind may answer with: those of its manual page, and what any call may get from
// a filter or a tired kernel. Not among them: answers that are themselves the proof.
std::vector<int> errnos_of(const std::string& kind);

// Whether "it worked" without an effect is an answer that a sandbox is known to give, or a filter
// can be made to give, for this kind.
bool may_pretend(const std::string& kind);

// Whether the kind transfers bytes that the kernel may cut.
bool may_shorten(const std::string& kind);

// Where failing from now on leaves no way to go on at all, by nature.
bool must_work_at_last(const std::string& kind);

std::string errno_name(int code);

}  // namespace faults
