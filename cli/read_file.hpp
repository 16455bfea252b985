// A file of this machine or, for "-", standard input, whole.
#pragma once

#include <cstddef>
#include <string>

#include "quietus/error.hpp"

namespace quietus::cli {

// The error (input) says why; more than `most_bytes` is one. Waits for whoever writes into a pipe.
Expected<std::string> read_file(const std::string& path, std::size_t most_bytes);

}  // namespace quietus::cli
