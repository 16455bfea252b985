// What a case is written in. It starts quietus on the actor, shows that the victims live, waits for
// the end, and compares bytes. What is checked without being asked: a confirmed receipt never
// appears while anybody lives, and after the case nobody, no temporary file and no cgroup is left.
#pragma once

#include <optional>
#include <source_location>
#include <sstream>
#include <stdexcept>

#include "harness/json.hpp"
#include "machine.hpp"

namespace guest {

using Here = std::source_location;
using harness::Json;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void expect(bool holds, const std::string& what, Here here = Here::current());

template <class Got, class Wanted>
void same(const Got& got, const Wanted& wanted, Here here = Here::current()) {
  if (got == wanted) return;
  std::ostringstream out;
  out << "got '" << got << "' instead of '" << wanted << "'";
  expect(false, out.str(), here);
}

// The exact bytes of a receipt without an error, or with this one.
std::string receipt(bool confirmed, std::optional<int> code, bool timed_out = false,
                    const std::string& error = "");

// Where quietus is started. Mounts are taken away in a mount namespace of its own, so that no case
// changes the next one's machine.
struct Place {
  unsigned uid = 0;
  bool proc = true;
  bool dev = true;
  bool standard_descriptors = true;
  bool first_process = false;     // of a PID namespace
  std::string cgroup;             // moved there before the start; "" for no cgroup hierarchy at all
  std::function<void()> prepare;  // the last thing between fork and exec
};

// The root of the hierarchy: where root may make cgroups.
Place with_cgroup();
Place unprivileged();

struct Ended {
  int status = -1000;  // the exit code, or -N for death by signal N
  double seconds = 0;
  std::string out;  // stdout and stderr
  std::string receipt;
  std::string report;

  void told(const std::string& receipt, Here here = Here::current()) const;
  // The receipt's error, once its bytes are seen to be exactly in the contract's form.
  [[nodiscard]] std::string error(Here here = Here::current()) const;
  [[nodiscard]] std::string means(Here here = Here::current()) const;
  [[nodiscard]] std::string proof(Here here = Here::current()) const;
  [[nodiscard]] Json parsed_report(Here here = Here::current()) const;
  // Whether the report's fallbacks name this call.
  [[nodiscard]] bool fell_back(const std::string& call, Here here = Here::current()) const;
};

class Scene {
 public:
  explicit Scene(Reaper& reaper);

  // The actor with a script, its heartbeats mapped.
  static Words actor(const Words& script);
  static std::string path(const std::string& name) { return "/tmp/case/" + name; }

  // quietus in its bare form, or `run`, with receipt and report asked for. A cleanup timeout of 2 s
  // unless the options name another.
  pid_t bare(const Words& options, const Words& command, const Place& place = {});
  pid_t run(const Words& options, const Words& command, const Place& place = {});
  pid_t start(const Words& words, const Place& place);

  // The end of what was started last.
  Ended end(double seconds = 25, Here here = Here::current());
  // The receipt of a quietus whose first process was killed: once everybody is gone.
  Ended end_of_the_other_half(double seconds = 25, Here here = Here::current());

  [[nodiscard]] pid_t guardian() const { return started_; }
  pid_t supervisor(Here here = Here::current());

  [[nodiscard]] uint64_t beats(int slot) const;
  void touch(int slot);
  // Counts up right now.
  void alive(int slot, Here here = Here::current());
  void reaches(int slot, uint64_t count, Here here = Here::current());
  void wait_for(const std::string& what, const std::function<bool()>& condition,
                Here here = Here::current());

  // Says that processes are meant to stay; how they are is then for the case to check.
  void some_may_stay() { may_stay_ = true; }
  void nobody_lives(Here here = Here::current()) const;

  // Runs the checks that are never asked for, and clears the machine.
  void close();

 private:
  void look_at_the_receipt();
  Ended collect(int status, Here here);

  Reaper& reaper_;
  volatile uint64_t* page_ = nullptr;
  pid_t started_ = 0;
  Clock::time_point start_;
  bool may_stay_ = false;
  bool receipt_seen_ = false;
  std::string alive_at_the_receipt_;
};

struct Case {
  const char* name;
  void (*run)(Scene&);
};

extern const std::vector<Case> kReceiptsCases;
extern const std::vector<Case> kEndsCases;
extern const std::vector<Case> kHalvesCases;
extern const std::vector<Case> kMeansCases;
extern const std::vector<Case> kSurroundingsCases;

}  // namespace guest
