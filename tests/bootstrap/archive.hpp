// Archives for the tests, with whatever members no honest release has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bootstrap_tests {

struct Member {
  enum class Kind { file, directory, symlink, hardlink, device };
  std::string path;
  std::string content = {};  // of a file; the target of a link
  Kind kind = Kind::file;
  std::uint64_t zeros = 0;  // instead of the content
};

enum class Form { tar_gz, tar_xz, zip };
// The bytes of the archive.
std::string make_archive(const std::vector<Member>& members, Form form = Form::tar_gz);
// The same bytes each time, which no compression makes smaller.
std::string noise(std::size_t size);

}  // namespace bootstrap_tests
