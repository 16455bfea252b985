// A started quietus, and what came of it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/descendants.hpp"
#include "harness/json.hpp"
#include "harness/launch.hpp"
#include "harness/receipt_file.hpp"

namespace harness {

struct Ended {
  Form form = Form::bare;
  int status = -1000;  // the exit code, or -N for death by signal N
  bool hung = false;   // still running after the bound; killed then
  double seconds = 0;
  std::string out;
  std::string err;
  bool has_receipt = false;  // something stands at the path
  std::string receipt_bytes;
  std::optional<ReceiptFile> receipt;  // only if the bytes are exactly in the contract's form
  std::string receipt_fault;
  std::optional<Json> report;
  std::vector<ProcessRow> survivors;  // living descendants of the test once quietus had ended

  [[nodiscard]] std::string text() const;  // for messages
};

class Running {
 public:
  // Ends a namespace that in_pid_namespace made, and closes what the test held.
  ~Running();
  Running(Running&& other) noexcept;
  Running& operator=(Running&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // quietus' two halves: found by their place in the tree. 0 where there is none in time.
  [[nodiscard]] pid_t guardian() const;
  [[nodiscard]] pid_t supervisor(double seconds = 15) const;

  // To the guardian, as a user would.
  void signal(int number) const;

  Ended wait(double seconds = 20);

  // For a tracer, which has to collect the process itself.
  void note_end(int wait_status);

  // Closes the namespace; wait() has looked at it before.
  void release();

 private:
  friend class Scenario;
  Running(Launch launch, pid_t pid, Clock::time_point start, int release, std::string out,
          std::string err);
  bool over();  // collects the process

  Launch launch_;
  pid_t pid_ = 0;
  int release_ = -1;
  Clock::time_point start_;
  std::string out_path_;
  std::string err_path_;
  bool collected_ = false;
  int status_ = -1000;
};

// Reads the records a launch asked for. Used by wait(), and by tests where a killed half is
// outlived by the other.
void read_records(const Launch& launch, Ended& ended);

}  // namespace harness
