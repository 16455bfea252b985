// From --adapter to an adapter: a file, or the name of one that is installed.
#pragma once

#include <memory>
#include <string>

#include "quietus/adapter.hpp"

namespace quietus::cli {

// What holds a slash or ends with .toml is a file. The error (input) is one line.
Expected<std::shared_ptr<const Adapter>> find_adapter(const std::string& name,
                                                      const std::string& executable);

}  // namespace quietus::cli
