// RFC 4648, for the one way in that has no standard input. Pure.
#pragma once

#include <string>
#include <string_view>

namespace quietus {

std::string base64(std::string_view bytes);

}  // namespace quietus
