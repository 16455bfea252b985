// What a sandbox is, by what it says of itself, and what a program needs. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quietus/error.hpp"

namespace quietus {

struct SandboxLibrary {
  std::string name = {};  // glibc, musl
  std::string version = {};
  std::string loader = {};
};

struct SandboxDirectory {
  std::string path = {};
  bool writes = false;
  bool executes = false;
  std::uint64_t free_bytes = 0;
  std::string why = {};  // it cannot be used
};

struct Platform {
  std::string kernel = {};                     // Linux
  std::string machine = {};                    // x86_64, aarch64, else as uname says it
  std::vector<SandboxLibrary> libraries = {};  // of this machine; none: only static programs run
  std::uint64_t page_size = 0;
  std::int64_t uid = -1;
  std::vector<SandboxDirectory> directories = {};  // those that were looked at, in order
  std::string asked = {};                          // "sh", "quietus probe"

  // "Linux x86_64, glibc 2.36", for messages.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const SandboxLibrary* library(std::string_view name) const;
  // The first that runs programs and has the room.
  [[nodiscard]] const SandboxDirectory* usable(std::uint64_t bytes) const;
};

// Answers of the two ways to ask. Pure. An answer that is missing or contradicts another is an
// error (sandbox) that names it.
struct ShellAnswers {
  Platform platform = {};
  std::vector<std::string> present = {};  // "SHA256 PATH" of programs that were looked for
  std::vector<std::string> missing = {};  // what could not be told; the rest holds
};
Expected<ShellAnswers> parse_shell_answers(std::string_view text, std::string_view token);
Expected<Platform> parse_probe_answer(std::string_view json);

// What an ELF file needs to run. Pure.
struct ElfNeeds {
  std::string machine = {};      // x86_64, aarch64, else "elf machine N"
  std::string interpreter = {};  // empty: static
  std::string glibc = {};        // the newest version that it asks for; empty: none
  std::vector<std::string> libraries = {};
};
Expected<ElfNeeds> read_elf(std::string_view bytes, std::string_view shown);
// Why it does not run there, or cannot be known to; empty: it runs.
std::string why_not_reused(const ElfNeeds& needs, const Platform& platform);

}  // namespace quietus
