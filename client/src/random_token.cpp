#include "client/src/random_token.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace quietus {

std::string random_token() {
  unsigned char bytes[16];
  // Up to 256 bytes come whole once the pool is initialised (getrandom(2)); a signal may be
  // earlier.
  while (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    if (errno != EINTR) std::abort();  // no kernel that we run on lacks it
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

}  // namespace quietus
