// What both commands need to turn their tables into a Command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace quietus::documents {

// By the name that help gives the value. One that is not known has to be decided first: the build
// stops.
Value value_named(std::string_view name, const std::vector<Value>& known);

std::string one_line(std::string_view text);
std::vector<std::string> split(std::string_view text, std::string_view separators);

}  // namespace quietus::documents
