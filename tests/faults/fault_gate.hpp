// The gate of the sweep: counts every request by kind, makes the chosen one go wrong, and notes
// what the kernel really said. One object is made before quietus starts; each fork copies it, and
// all copies share the Facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "faults/facts.hpp"
#include "faults/fault.hpp"
#include "faults/request_kind.hpp"
#include "kernel/gate.hpp"

namespace faults {

struct GateSetup {
  Fault fault;               // an empty kind: none
  std::vector<Fault> given;  // true of the whole run; kinds are prefixes here
  std::string scratch;       // where this run may write
  std::string receipt;       // its rename is the moment of truth
  std::string own_proc;      // a /proc of the run's namespace that quietus does not know
  bool trace = false;        // note every request in scratch + "/trace"
};

class FaultGate final : public quietus::sys::Gate {
 public:
  FaultGate(Facts& facts, const GateSetup& setup);

  long perform(const quietus::sys::Request& request) noexcept override;

 private:
  std::uint32_t count(const char* kind);
  [[nodiscard]] bool is_given(const char* kind, int& code) const;
  [[nodiscard]] bool strikes(const char* kind, std::uint32_t nth) const;
  long strike(const quietus::sys::Request& request, const char* kind);
  long forward(const quietus::sys::Request& request);
  void note(const quietus::sys::Request& request, long answer);
  void note_fork(long answer);
  void note_wait(const quietus::sys::Request& request);
  void look_who_lives();
  void trace(Role role, const char* kind, long answer) const;

  Facts& facts_;
  const GateSetup& setup_;
  std::uint64_t fault_hash_;
  Descriptors descriptors_;
  Role role_ = Role::guardian;
};

// Living processes in a /proc that quietus started, which is: all but those that the run knows.
struct Living {
  int count = 0;
  int attached = 0;  // of these, the ones that have no session of their own making
};
Living living_actors(const char* proc, const Facts& facts, char (&text)[kNoteText]);

}  // namespace faults
