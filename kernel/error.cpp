#include "kernel/error.hpp"

#include <cerrno>

#include "contract/decimal.hpp"

namespace quietus::sys {
namespace {

struct Text {
  int code;
  std::string_view text;
};

constexpr Text kTexts[] = {
    {EPERM, "Operation not permitted"},
    {ENOENT, "No such file or directory"},
    {ESRCH, "No such process"},
    {EINTR, "Interrupted system call"},
    {EIO, "Input/output error"},
    {E2BIG, "Argument list too long"},
    {ENOEXEC, "Exec format error"},
    {EBADF, "Bad file descriptor"},
    {ECHILD, "No child processes"},
    {EAGAIN, "Resource temporarily unavailable"},
    {ENOMEM, "Cannot allocate memory"},
    {EACCES, "Permission denied"},
    {EFAULT, "Bad address"},
    {EBUSY, "Device or resource busy"},
    {EEXIST, "File exists"},
    {EXDEV, "Invalid cross-device link"},
    {ENODEV, "No such device"},
    {ENOTDIR, "Not a directory"},
    {EISDIR, "Is a directory"},
    {EINVAL, "Invalid argument"},
    {ENFILE, "Too many open files in system"},
    {EMFILE, "Too many open files"},
    {ETXTBSY, "Text file busy"},
    {EFBIG, "File too large"},
    {ENOSPC, "No space left on device"},
    {EROFS, "Read-only file system"},
    {EMLINK, "Too many links"},
    {EPIPE, "Broken pipe"},
    {ERANGE, "Numerical result out of range"},
    {ENAMETOOLONG, "File name too long"},
    {ENOSYS, "Function not implemented"},
    {ENOTEMPTY, "Directory not empty"},
    {ELOOP, "Too many levels of symbolic links"},
    {EOVERFLOW, "Value too large for defined data type"},
    {ELIBBAD, "Accessing a corrupted shared library"},
    {EUSERS, "Too many users"},
    {EOPNOTSUPP, "Operation not supported"},
    {ETIMEDOUT, "Connection timed out"},
    {ESTALE, "Stale file handle"},
    {EDQUOT, "Disk quota exceeded"},
};

}  // namespace

std::string quoted(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char mark = has_single && !has_double ? '"' : '\'';
  std::string out(1, mark);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unseen = byte < ' ' || byte == 0x7F;
    if (unseen || c == '\\' || c == mark) out += '\\';
    if (c == '\t' || c == '\n' || c == '\r') {
      out += "tn  r"[c - '\t'];
    } else if (unseen) {
      const char digits[] = {'x', kDigits[byte / 16], kDigits[byte % 16]};
      out.append(digits, sizeof digits);
    } else {
      out += c;
    }
  }
  return out += mark;
}

bool missing(const Error& error) {
  return error.code == ENOSYS || error.code == EPERM || error.code == EACCES ||
         error.code == EINVAL || error.code == EOPNOTSUPP;
}

bool gone(const Error& error) {
  return error.code == ESRCH || error.code == ENOENT || error.code == ECHILD;
}

bool denied(const Error& error) { return error.code == EPERM || error.code == EACCES; }

bool would_block(const Error& error) { return error.code == EAGAIN; }

std::string_view describe(int code) {
  for (const Text& known : kTexts) {
    if (known.code == code) return known.text;
  }
  return "Unknown error";
}

std::string errno_text(int code, std::string_view about) {
  std::string out = "[Errno ";
  append_decimal(out, code);
  out += "] ";
  out += describe(code);
  if (!about.empty()) {
    out += ": ";
    out += quoted(about);
  }
  return out;
}

}  // namespace quietus::sys
