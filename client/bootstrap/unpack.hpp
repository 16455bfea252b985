// One program out of an archive; by libarchive. Blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "quietus/error.hpp"

namespace quietus {

// Writes the regular file `member` of the archive to the descriptor. The whole archive is looked
// at: a member that is absolute or leads out by "..", one of a kind that no release holds (a
// device), the same member twice, or more than `most_bytes` in all is an error (input), whatever
// else stands in it. No name in the archive ever becomes a path on this machine.
Expected<void> unpack_member(const std::string& archive, const std::string& member, int fd,
                             std::uint64_t most_bytes, const std::function<bool()>& cancelled);

}  // namespace quietus
