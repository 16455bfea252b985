// SHA-256, by libcrypto.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quietus/error.hpp"

namespace quietus {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(std::string_view bytes);
  // 64 hexadecimal digits; once.
  [[nodiscard]] std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_of(std::string_view bytes);
// The error (input) names the path.
Expected<std::string> sha256_of_file(const std::string& path);
// Of everything behind the descriptor's place.
Expected<std::string> sha256_of_open(int fd, std::string_view shown);
// 64 hexadecimal digits in lower case.
bool is_sha256(std::string_view text);

}  // namespace quietus
