// A system call that failed: its errno and its name. Classes of errno are named here, so that no
// other file compares numbers.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace quietus::sys {

struct Error {
  int code = 0;
  const char* call = "";
};

// The value of a call that has nothing to say but that it worked.
struct Unit {};

template <class T>
using Result = tl::expected<T, Error>;

// An optional call that is not to be had here. Containers answer EPERM or EACCES for a call that
// their profile denies, old kernels ENOSYS or EINVAL: denied is a kind of missing.
[[nodiscard]] bool missing(const Error& error);

// The process, group or file is not there (any more).
[[nodiscard]] bool gone(const Error& error);

// The permission to do it is lacking.
[[nodiscard]] bool denied(const Error& error);

// Nothing to read or write just now.
[[nodiscard]] bool would_block(const Error& error);

// The text of errno(3), the same for every C library: "No such file or directory".
[[nodiscard]] std::string_view describe(int code);

// As Python's repr has it: 'a\n', and in double quotes where that saves escaping. Bytes beyond
// ASCII stay as they are.
[[nodiscard]] std::string quoted(std::string_view text);

// "[Errno 2] No such file or directory: 'name'", the form of upstream's receipts.
[[nodiscard]] std::string errno_text(int code, std::string_view about);

}  // namespace quietus::sys
