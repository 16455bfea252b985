#include "client/src/local_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "contract/decimal.hpp"

namespace quietus {

Expected<std::string> read_local_file(const std::string& path, std::uint64_t most_bytes) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) {
    return fail(ErrorKind::input,
                "cannot read '" + path + "': " + (error ? error.message() : "permission denied"));
  }
  if (size > most_bytes) {
    return fail(ErrorKind::input, "'" + path + "' has more than " + decimal(most_bytes) + " bytes");
  }
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

}  // namespace quietus
