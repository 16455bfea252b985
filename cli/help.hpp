// Help and version texts. Pure.
#pragma once

#include <string>
#include <string_view>

namespace quietus::cli {

// Of one verb, of "sandboxes", or of the program (empty).
std::string help_text(std::string_view topic);
std::string version_text();

}  // namespace quietus::cli
