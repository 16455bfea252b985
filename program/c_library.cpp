#include "program/c_library.hpp"

#include <algorithm>

namespace quietus {
namespace {

struct Loader {
  const char* library;
  const char* path;
  std::string_view mark;  // stands in the real one; a compatibility shim at the same path lacks it
};

#if defined(__x86_64__)
constexpr const char* kGlibcLoader = "/lib64/ld-linux-x86-64.so.2";
constexpr const char* kDebianLibrary = "/lib/x86_64-linux-gnu/libc.so.6";
constexpr const char* kMuslLoader = "/lib/ld-musl-x86_64.so.1";
#elif defined(__aarch64__)
constexpr const char* kGlibcLoader = "/lib/ld-linux-aarch64.so.1";
constexpr const char* kDebianLibrary = "/lib/aarch64-linux-gnu/libc.so.6";
constexpr const char* kMuslLoader = "/lib/ld-musl-aarch64.so.1";
#endif

constexpr Loader kLoaders[] = {
    {"glibc", kGlibcLoader, "GLIBC_PRIVATE"},
    {"musl", kMuslLoader, "musl libc"},
};

// Before 2.33 the loader did not tell its version; the library always does.
constexpr const char* kGlibcFiles[] = {
    kDebianLibrary,       "/lib64/libc.so.6", "/usr/lib64/libc.so.6",
    "/usr/lib/libc.so.6", "/lib/libc.so.6",
};

constexpr std::size_t kLibraryLimit = std::size_t{16} << 20;
constexpr std::size_t kHeadLimit = 4096;  // holds the name of the loader that a program asks for

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

void set_version(CLibrary& library, std::string_view version) {
  version.copy(library.version, sizeof library.version - 1);
}

void find_version(sys::Gate& gate, CLibrary& library, std::string_view loader) {
  if (library.name == kLoaders[1].library) return set_version(library, musl_version(loader));
  set_version(library, glibc_version(loader));
  for (const char* path : kGlibcFiles) {
    if (library.version[0] != 0) return;
    const auto bytes = sys::read_file(gate, path, kLibraryLimit);
    if (bytes) set_version(library, glibc_version(*bytes));
  }
}

}  // namespace

// "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36."
std::string_view glibc_version(std::string_view bytes) {
  constexpr std::string_view kBefore = " release version ";
  const std::size_t found = bytes.find(kBefore);
  if (found == std::string_view::npos) return {};
  const std::size_t begin = found + kBefore.size();
  const std::size_t major = digits_at(bytes, begin);
  const std::size_t dot = begin + major;
  if (major == 0 || dot >= bytes.size() || bytes[dot] != '.') return {};
  const std::size_t minor = digits_at(bytes, dot + 1);
  if (minor == 0) return {};
  return bytes.substr(begin, major + 1 + minor);
}

// The version is a string of its own, such as "1.2.3" or "1.2.4_git20230717".
std::string_view musl_version(std::string_view bytes) {
  constexpr std::size_t kLongest = 31;
  std::string_view version;
  for (std::size_t at = 0; (at = bytes.find("1.", at)) != std::string_view::npos; ++at) {
    if (at > 0 && bytes[at - 1] >= ' ' && bytes[at - 1] <= '~') continue;  // 127.0.0.1
    const std::string_view text = bytes.substr(at, bytes.find('\0', at) - at);
    const std::size_t dot = 2 + digits_at(text, 2);
    if (text.size() > kLongest || dot == 2 || !text.substr(dot).starts_with('.')) continue;
    const std::size_t end = dot + 1 + digits_at(text, dot + 1);
    const bool whole = end == text.size() || text[end] == '_' || text[end] == '-';
    if (end == dot + 1 || !whole) continue;
    if (!version.empty() && version != text) return {};
    version = text;
  }
  return version;
}

void find_c_libraries(sys::Gate& gate, CLibraries& found) {
  std::size_t count = 0;
  for (const Loader& loader : kLoaders) {
    const auto bytes = sys::read_file(gate, loader.path, kLibraryLimit);
    if (!bytes && sys::gone(bytes.error())) continue;
    const bool real = bytes && bytes->find(loader.mark) != std::string::npos;
    CLibrary& library = found[count++];
    library.loader = loader.path;
    library.name = real ? loader.library : "unknown";
    if (real) find_version(gate, library, *bytes);
  }
  if (count < found.size()) return;
  const auto shell = sys::read_file(gate, "/bin/sh", kHeadLimit);
  const bool second = shell && shell->find(found[1].loader) != std::string::npos;
  if (second) std::swap(found[0], found[1]);
}

}  // namespace quietus
