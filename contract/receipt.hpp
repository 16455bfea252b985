// The cleanup receipt: four keys, read by every controller (upstream's included). Bytes and key
// order are a contract; what else there is to say stands in the report.
#pragma once

#include <optional>
#include <string>

#include "contract/outcome.hpp"

namespace quietus {

struct Receipt {
  bool cleanup_confirmed = false;  // set by a Proof, by nothing else
  std::optional<int> return_code;  // 0..255, or -N for death by signal N; null when not known
  std::optional<std::string> error;
  bool timed_out = false;  // the deadline, or an expire request; never a stop
};

Receipt receipt_of(const Outcome& outcome);

// One JSON object, no newline: a plain success is 80 bytes.
std::string receipt_json(const Receipt& receipt);

}  // namespace quietus
