// Where the cache keeps what.
#pragma once

#include <string>

#include "quietus/tool_manifest.hpp"

namespace quietus {

// Of the program, once it is there. Pure.
std::string path_in_cache(const ToolManifest& manifest, const ToolTarget& target,
                          const std::string& cache);

}  // namespace quietus
