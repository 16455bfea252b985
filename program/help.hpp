// The texts that quietus prints about itself. Pure.
#pragma once

#include <string>
#include <string_view>

namespace quietus {

std::string help_text(std::string_view verb);  // of a verb; empty: of the program
std::string version_text();
std::string version_json();

}  // namespace quietus
