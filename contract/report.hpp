// The report: the rich record beside the receipt, for people and tools that want to know how.
// docs/report.schema.json describes it; a change of meaning raises kReportVersion.
#pragma once

#include <string>

#include "contract/outcome.hpp"

namespace quietus {

inline constexpr int kReportVersion = 1;

// One JSON object and a newline. Holds command lines of survivors, never an environment.
std::string report_json(const Outcome& outcome);

// 2026-11-29T18:30:00.123456Z (RFC 3339, UTC).
std::string rfc3339(std::int64_t nanoseconds_since_epoch);

}  // namespace quietus
