// What a sandbox says of itself, in both forms, and what a program says of its needs: an answer
// that is taken for whole is whole, and one that is refused is refused on one line.
//
// Module: client/bootstrap/elf.cpp client/bootstrap/platform.cpp
#include <bit>
#include <string>

#include "property.hpp"
#include "quietus/platform.hpp"

using fuzz::require;

namespace {

void check(const quietus::Platform& platform) {
  require(!platform.kernel.empty() && !platform.machine.empty(), "kernel and machine are named");
  require(platform.page_size > 0 && platform.uid >= 0, "page size and uid are told");
  require(!platform.directories.empty(), "a directory was looked at");
  for (const auto& library : platform.libraries) {
    require(!library.version.empty(), "a C library has its version");
    require(platform.library(library.name) == &library, "there is one of each");
  }
}

void check_uses(const quietus::Platform& platform) {
  require(platform.text().find('\n') == std::string::npos, "a platform is told on one line");
  const auto* const directory = platform.usable(1);
  require(directory == nullptr || (directory->executes && directory->free_bytes > 0),
          "a directory is usable that runs programs and has room");
}

// A program that is reused finds there what it asks for.
void check_reuse(const quietus::ElfNeeds& needs) {
  for (const char* machine : {"x86_64", "aarch64"}) {
    for (const char* version : {"", "2.36", "odd"}) {
      quietus::Platform platform{.kernel = "Linux", .machine = machine};
      if (*version != '\0') {
        platform.libraries = {{.name = "glibc", .version = version, .loader = needs.interpreter}};
      }
      if (!quietus::why_not_reused(needs, platform).empty()) continue;
      require(needs.machine == machine, "it is for the machine");
      require(*version != '\0' || (needs.interpreter.empty() && needs.libraries.empty()),
              "only a static program needs no C library");
    }
  }
}

template <class T>
void check_refusal(const quietus::Expected<T>& refused) {
  const std::string text = refused.error().text();
  require(!text.empty() && text.find('\n') == text.npos, "a refusal is one line");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto answers = quietus::parse_shell_answers(text, "T");
  if (answers) check_uses(answers->platform);
  if (!answers) {
    check_refusal(answers);
  } else if (answers->missing.empty()) {
    check(answers->platform);
    require(std::has_single_bit(answers->platform.page_size), "a page is a power of two");
  }
  const auto probe = quietus::parse_probe_answer(text);
  probe ? check(*probe) : check_refusal(probe);
  if (probe) check_uses(*probe);
  const auto elf = quietus::read_elf(text, "program");
  elf ? require(!elf->machine.empty(), "a program is for a machine") : check_refusal(elf);
  if (elf) check_reuse(*elf);
  return 0;
}
