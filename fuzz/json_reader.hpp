// Another reader of JSON, to judge ours by. Apart from property.hpp because it is slow to compile.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace fuzz {

// "discarded" where it makes nothing of the text.
inline nlohmann::json read_json(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace fuzz
