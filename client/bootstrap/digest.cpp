#include "client/bootstrap/digest.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "client/src/descriptor.hpp"

namespace quietus {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kDigits = 64;

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
};

// libcrypto fails here only where there is no memory, or no SHA-256: a wrong digest would be worse.
Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (context_->evp == nullptr || EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) != 1) {
    std::abort();
  }
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_->evp); }

void Sha256::add(std::string_view bytes) {
  if (EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) != 1) std::abort();
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context_->evp, raw.data(), &size) != 1) std::abort();
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (unsigned at = 0; at < size; ++at) {
    text += kHex[raw[at] >> 4];
    text += kHex[raw[at] & 15];
  }
  return text;
}

std::string sha256_of(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

Expected<std::string> sha256_of_open(int fd, std::string_view shown) {
  Sha256 digest;
  std::vector<char> buffer(kChunk);
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorKind::input, system_message("read", shown, errno));
    if (got == 0) return digest.hex();
    digest.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

Expected<std::string> sha256_of_file(const std::string& path) {
  const auto file = open_file(path.c_str(), O_RDONLY | O_NONBLOCK);
  if (!file) return fail(file.error());
  return sha256_of_open(file->get(), path);
}

bool is_sha256(std::string_view text) {
  return text.size() == kDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace quietus
