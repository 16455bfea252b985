// The jobs of a batch, one JSON object a line. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/run_session.hpp"
#include "cli/settings.hpp"
#include "cli/values.hpp"

namespace quietus::cli {

struct Job {
  std::string name;
  SessionPlan plan;
};

// Blank lines are skipped. What a job does not say, the settings do. The error names file and line.
tl::expected<std::vector<Job>, UsageError> parse_jobs(std::string_view text, std::string_view file,
                                                      const Settings& settings);

}  // namespace quietus::cli
