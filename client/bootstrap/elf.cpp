// What an ELF file needs, read from its program headers, dynamic section and version needs. Every
// offset comes from the file and is checked before it is followed.
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "client/bootstrap/words.hpp"
#include "quietus/platform.hpp"

namespace quietus {
namespace {

constexpr std::size_t kMostHeaders = 256;
constexpr std::size_t kMostEntries = 4096;

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return {};
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::optional<std::string> text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest = bytes_.substr(offset);
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return {};
    return std::string(rest.substr(0, end));
  }

 private:
  std::string_view bytes_;
};

std::string elf_machine(unsigned number) {
  if (number == EM_X86_64) return "x86_64";
  if (number == EM_AARCH64) return "aarch64";
  return "elf machine " + std::to_string(number);
}

struct Segments {
  std::vector<Elf64_Phdr> all;

  // Where an address of the running program lies in the file.
  [[nodiscard]] std::optional<std::uint64_t> offset(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : all) {
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz) {
        return segment.p_offset + (address - segment.p_vaddr);
      }
    }
    return {};
  }
};

struct Dynamic {
  std::optional<std::uint64_t> names;
  std::optional<std::uint64_t> needs;
  std::uint64_t need_count = 0;
  std::vector<std::uint64_t> libraries;  // offsets into names
};

std::optional<Dynamic> read_dynamic(const Bytes& bytes, const Segments& segments,
                                    const Elf64_Phdr& section) {
  Dynamic dynamic;
  const std::uint64_t count =
      std::min<std::uint64_t>(section.p_filesz / sizeof(Elf64_Dyn), kMostEntries);
  for (std::uint64_t at = 0; at < count; ++at) {
    const auto entry = bytes.at<Elf64_Dyn>(section.p_offset + at * sizeof(Elf64_Dyn));
    if (!entry) return {};
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_STRTAB) dynamic.names = segments.offset(entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERNEED) dynamic.needs = segments.offset(entry->d_un.d_ptr);
    if (entry->d_tag == DT_VERNEEDNUM) dynamic.need_count = entry->d_un.d_val;
    if (entry->d_tag == DT_NEEDED) dynamic.libraries.push_back(entry->d_un.d_val);
  }
  if (!dynamic.libraries.empty() && !dynamic.names) return {};
  if (dynamic.need_count > 0 && (!dynamic.needs || !dynamic.names)) return {};
  return dynamic;
}

// The newest GLIBC_x.y; false: the tables are broken.
bool newest_glibc(const Bytes& bytes, const Dynamic& dynamic, std::string& newest) {
  constexpr std::string_view kPrefix = "GLIBC_";
  std::uint64_t need_at = dynamic.needs.value_or(0);
  for (std::uint64_t need = 0; need < std::min<std::uint64_t>(dynamic.need_count, kMostEntries);
       ++need) {
    const auto file = bytes.at<Elf64_Verneed>(need_at);
    if (!file) return false;
    std::uint64_t version_at = need_at + file->vn_aux;
    for (unsigned version = 0; version < file->vn_cnt; ++version) {
      const auto wanted = bytes.at<Elf64_Vernaux>(version_at);
      if (!wanted) return false;
      const auto name = bytes.text(*dynamic.names + wanted->vna_name);
      if (!name) return false;
      if (name->starts_with(kPrefix)) {
        const std::string number = name->substr(kPrefix.size());
        // GLIBC_PRIVATE and GLIBC_ABI_DT_RELR belong to one build or feature, not to a version.
        const auto order = compare_versions(number, newest.empty() ? "0" : newest);
        if (!order) {
          newest = number;
          return true;
        }
        if (*order > 0) newest = number;
      }
      version_at += wanted->vna_next;
      if (wanted->vna_next == 0) break;
    }
    need_at += file->vn_next;
    if (file->vn_next == 0) break;
  }
  return true;
}

}  // namespace

Expected<ElfNeeds> read_elf(std::string_view file, std::string_view shown) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorKind::input, "'" + std::string(shown) + "' " + std::string(why));
  };
  const Bytes bytes(file);
  const auto header = bytes.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return wrong("is no ELF program");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return wrong("is no little-endian 64-bit program");
  }
  if (header->e_type != ET_EXEC && header->e_type != ET_DYN) return wrong("cannot be run");
  if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > kMostHeaders) {
    return wrong("has broken program headers");
  }
  ElfNeeds needs{.machine = elf_machine(header->e_machine)};
  Segments segments;
  for (unsigned at = 0; at < header->e_phnum; ++at) {
    const auto segment = bytes.at<Elf64_Phdr>(header->e_phoff + at * sizeof(Elf64_Phdr));
    if (!segment) return wrong("has broken program headers");
    segments.all.push_back(*segment);
  }
  for (const Elf64_Phdr& segment : segments.all) {
    if (segment.p_type == PT_INTERP) {
      const auto interpreter = bytes.text(segment.p_offset);
      if (!interpreter || interpreter->empty()) return wrong("names no interpreter");
      needs.interpreter = *interpreter;
    }
    if (segment.p_type != PT_DYNAMIC) continue;
    const auto dynamic = read_dynamic(bytes, segments, segment);
    if (!dynamic) return wrong("has a broken dynamic section");
    for (const std::uint64_t library : dynamic->libraries) {
      const auto name = bytes.text(*dynamic->names + library);
      if (!name) return wrong("has a broken dynamic section");
      needs.libraries.push_back(*name);
    }
    if (!newest_glibc(bytes, *dynamic, needs.glibc)) return wrong("has broken version needs");
  }
  return needs;
}

std::string why_not_reused(const ElfNeeds& needs, const Platform& platform) {
  if (platform.kernel != "Linux") return "the sandbox runs " + platform.kernel;
  if (needs.machine != platform.machine) {
    return "it is for " + needs.machine + ", the sandbox is " + platform.machine;
  }
  if (needs.interpreter.empty() && needs.libraries.empty()) return {};
  // Of glibc itself. Whatever else it needs may be missing there.
  constexpr std::array kOfGlibc = {"libc.so.6",
                                   "libm.so.6",
                                   "libpthread.so.0",
                                   "libdl.so.2",
                                   "librt.so.1",
                                   "libutil.so.1",
                                   "libresolv.so.2",
                                   "ld-linux-x86-64.so.2",
                                   "ld-linux-aarch64.so.1"};
  for (const std::string& library : needs.libraries) {
    if (std::ranges::find(kOfGlibc, library) == kOfGlibc.end()) {
      return "it needs " + library + ", which the sandbox may not have";
    }
  }
  const SandboxLibrary* const glibc = platform.library("glibc");
  if (glibc == nullptr) return "it needs glibc, and the sandbox has none";
  // A loader elsewhere (/nix/store/...) is another one, whatever its name.
  if (glibc->loader != needs.interpreter) return "it needs the loader " + needs.interpreter;
  if (needs.glibc.empty()) return {};
  const auto order = compare_versions(needs.glibc, glibc->version);
  if (!order)
    return "it needs glibc " + needs.glibc + ", and which one there is cannot be compared";
  if (*order > 0) return "it needs glibc " + needs.glibc + ", the sandbox has " + glibc->version;
  return {};
}

}  // namespace quietus
