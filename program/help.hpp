// The texts that quietus prints about itself. Pure.
#pragma once

#include <string>

namespace quietus {

std::string help_text();      // quietus --help
std::string run_help_text();  // quietus run --help
std::string version_text();
std::string version_json();

}  // namespace quietus
