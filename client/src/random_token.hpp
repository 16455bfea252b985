// Names that nobody else has.
#pragma once

#include <string>

namespace quietus {

// 128 random bits as 32 hexadecimal digits.
std::string random_token();

}  // namespace quietus
