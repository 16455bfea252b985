// Reports are checked wherever one is read: against the published JSON Schema, and against the
// receipt of the same run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/json.hpp"

namespace harness {

struct Ended;

// Adds a test failure for each fault; nothing where the text is no JSON at all.
std::optional<Json> checked_report(std::string_view text, const Ended& ended);

}  // namespace harness
