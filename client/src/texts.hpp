// Parts of files.
#pragma once

#include <asio/awaitable.hpp>
#include <cstdint>
#include <string>

#include "quietus/sandbox.hpp"

namespace quietus {

// As download_text, but only the last bytes of a file that may be long.
asio::awaitable<Expected<std::string>> download_end(Sandbox& sandbox, std::string inside,
                                                    std::uint64_t most_bytes,
                                                    std::uint64_t kept_bytes);

}  // namespace quietus
