// A small file of this machine, whole.
#pragma once

#include <cstdint>
#include <string>

#include "quietus/error.hpp"

namespace quietus {

// More than `most_bytes`, and what is no regular file, is an error (input).
Expected<std::string> read_local_file(const std::string& path, std::uint64_t most_bytes);

}  // namespace quietus
