// The inside of Json, for the files of the harness that work on the document itself. The tests do
// not include it: the JSON library costs seconds of compile time a file.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/json.hpp"

namespace harness {

struct Json::Value {
  nlohmann::json json;
};

}  // namespace harness
