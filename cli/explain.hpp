// What a receipt or report says, for people and as an exit code. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/receipt.hpp"
#include "quietus/error.hpp"

namespace quietus::cli {

// A report that came back; none where the text is none. Nothing in it is trusted to be there.
std::optional<nlohmann::json> parse_report(std::string_view text);

// As `quietus run` would have ended. The receipt is the authority; the report tells a stop and a
// failed launch from the others, where it agrees with the receipt. Only the launch itself can say
// whether its command was not found (127) or cannot be executed (126).
int exit_code_of(const Receipt& receipt, const nlohmann::json* report,
                 std::optional<int> launch_code);

struct Explanation {
  bool is_report = false;
  bool strict = true;  // a receipt with exactly its four keys; a report that has them too
  Receipt receipt;
  int exit_code = 0;
  std::vector<std::string> sentences;
};
// The error (input) says why it is neither a receipt nor a report.
Expected<Explanation> explain(std::string_view text);

// "exited with 3", "died of SIGTERM", "could not be started",
// "did not run, or nobody knows how it ended"
std::string ending_text(const Receipt& receipt);

}  // namespace quietus::cli
