#include "cli/read_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "contract/decimal.hpp"

namespace quietus::cli {
namespace {

constexpr std::size_t kAtOnce = std::size_t{64} << 10;

tl::unexpected<Error> cannot_read(const std::string& path, int error) {
  const std::string what = path == "-" ? "standard input" : "'" + path + "'";
  return fail(ErrorKind::input, "cannot read " + what + ": " + std::strerror(error));
}

Expected<std::string> read_all(int fd, const std::string& path, std::size_t most_bytes) {
  std::string text;
  char chunk[kAtOnce];
  for (;;) {
    const ssize_t got = read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path, errno);
    if (got == 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
    if (text.size() > most_bytes) {
      return fail(ErrorKind::input,
                  "'" + path + "' has more than " + decimal(most_bytes) + " bytes");
    }
  }
}

}  // namespace

Expected<std::string> read_file(const std::string& path, std::size_t most_bytes) {
  if (path == "-") return read_all(0, path, most_bytes);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return cannot_read(path, errno);
  auto text = read_all(fd, path, most_bytes);
  close(fd);
  return text;
}

}  // namespace quietus::cli
