// Answers about a sandbox, from whoever gave them: judged here, and nowhere guessed.
#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "client/bootstrap/digest.hpp"
#include "client/bootstrap/words.hpp"
#include "quietus/platform.hpp"

namespace quietus {
namespace {

// Loaders say in their names for which machine they are.
std::string loader_machine(std::string_view loader) {
  const std::string_view name = loader.substr(loader.find_last_of('/') + 1);
  for (const std::string_view machine : {"x86_64", "aarch64"}) {
    if (name == "ld-musl-" + std::string(machine) + ".so.1") return std::string(machine);
  }
  if (name == "ld-linux-x86-64.so.2") return "x86_64";
  if (name == "ld-linux-aarch64.so.1") return "aarch64";
  return std::string(name);
}

bool is_ours(std::string_view machine) { return machine == "x86_64" || machine == "aarch64"; }

tl::unexpected<Error> contradiction(const std::string& what) {
  return fail(ErrorKind::sandbox, "the sandbox contradicts itself: " + what,
              "look at it by hand, or give the program yourself (--payload, a manifest)");
}

// Keeps the libraries of the machine. Those of others may stand there too (a cross toolchain).
Expected<void> settle_libraries(Platform& platform) {
  const std::vector<SandboxLibrary> all = std::move(platform.libraries);
  platform.libraries.clear();
  std::string other;
  for (const SandboxLibrary& library : all) {
    const std::string machine = loader_machine(library.loader);
    if (machine != platform.machine) {
      if (is_ours(machine)) other = library.loader;
      continue;
    }
    const SandboxLibrary* const before = platform.library(library.name);
    if (before == nullptr) {
      platform.libraries.push_back(library);
    } else if (before->version != library.version) {
      return contradiction("its " + library.name + " is " + shown_text(before->version) + " by " +
                           shown_text(before->loader) + " and " + shown_text(library.version) +
                           " by " + shown_text(library.loader));
    }
  }
  if (platform.libraries.empty() && !other.empty() && is_ours(platform.machine)) {
    return contradiction("its machine is " + platform.machine + ", and its only C library is " +
                         shown_text(other));
  }
  return {};
}

class ShellReader {
 public:
  explicit ShellReader(std::string_view token) : token_(token) {}

  Expected<void> line(std::string_view line) {
    // What other programs write between our lines is no answer.
    if (!line.starts_with(token_) || line.size() <= token_.size() || line[token_.size()] != ' ') {
      return {};
    }
    line.remove_prefix(token_.size() + 1);
    const std::string_view key = take(line, ' ');
    if (key == "library") return library(line);
    if (key == "directory") return directory(line);
    if (key == "present") {
      answers_.present.emplace_back(line);
      return {};
    }
    if (key == "begin") return {};
    if (key == "end") {
      complete_ = true;
      return {};
    }
    if (key != "kernel" && key != "machine" && key != "uid" && key != "page_size") {
      return contradiction("it answers '" + shown_text(key) + "', which was not asked");
    }
    if (line.empty()) return {};
    const auto [at, fresh] = single_.emplace(key, line);
    if (fresh || at->second == line) return {};
    return contradiction("its " + std::string(key) + " is " + shown_text(at->second) + " and " +
                         shown_text(line));
  }

  Expected<ShellAnswers> take_answers() {
    if (!complete_) answers_.missing.emplace_back("the end of the answers");
    Platform& platform = answers_.platform;
    platform.asked = "sh";
    platform.kernel = single("kernel", "kernel name (uname -s)");
    platform.machine = machine_name(single("machine", "machine (uname -m)"));
    if (const auto uid = parse_decimal<std::int64_t>(single("uid", "uid (id -u)"))) {
      platform.uid = *uid;
    } else if (!single_["uid"].empty()) {
      return contradiction("its uid is '" + shown_text(single_["uid"]) + "'");
    }
    const std::string page = single("page_size", "page size (getconf PAGESIZE)");
    if (const auto size = parse_decimal<std::uint64_t>(page); size && std::has_single_bit(*size)) {
      platform.page_size = *size;
    } else if (!page.empty()) {
      return contradiction("its page size is '" + shown_text(page) + "'");
    }
    const auto settled = settle_libraries(platform);
    if (!settled) return fail(settled.error());
    for (const SandboxLibrary& one : platform.libraries) {
      if (one.version.empty()) {
        answers_.missing.push_back("version of " + one.name + " (" + one.loader + ")");
      }
    }
    if (platform.directories.empty()) answers_.missing.emplace_back("directories");
    return std::move(answers_);
  }

 private:
  std::string single(const std::string& key, std::string_view shown) {
    const auto at = single_.find(key);
    if (at != single_.end()) return at->second;
    answers_.missing.emplace_back(shown);
    return {};
  }
  // library NAME VERSION|- LOADER
  Expected<void> library(std::string_view line) {
    SandboxLibrary library{.name = std::string(take(line, ' '))};
    const std::string_view version = take(line, ' ');
    if (version != "-") library.version = version;
    library.loader = line;
    if ((library.name != "glibc" && library.name != "musl") || !line.starts_with('/') ||
        (!library.version.empty() && !compare_versions(library.version, "0"))) {
      return contradiction("it answers a C library '" + shown_text(library.name) + " " +
                           shown_text(version) + "'");
    }
    answers_.platform.libraries.push_back(std::move(library));
    return {};
  }
  // directory WRITES EXECUTES FREE_KIB|- PATH
  Expected<void> directory(std::string_view line) {
    const std::string_view writes = take(line, ' ');
    const std::string_view executes = take(line, ' ');
    const std::string_view free = take(line, ' ');
    SandboxDirectory directory{.path = std::string(line)};
    directory.writes = writes == "yes";
    directory.executes = executes == "yes";
    const auto kib = parse_decimal<std::uint64_t>(free);
    if ((writes != "yes" && writes != "no") || line.empty()) {
      return contradiction("it answers a directory '" + shown_text(line) + "'");
    }
    if (directory.executes && !directory.writes) {
      return contradiction("a program runs in " + shown_text(line) + ", which cannot be written");
    }
    if (!directory.writes) {
      directory.why = "cannot be written";
    } else if (executes == "no") {
      directory.why = "runs no programs (noexec)";
    } else if (executes != "yes") {
      directory.why = "whether it runs programs is not known";
      answers_.missing.push_back("whether " + directory.path + " runs programs");
    }
    constexpr std::uint64_t kMostKib = std::uint64_t{1} << 50;
    if (kib && *kib < kMostKib) {
      directory.free_bytes = *kib << 10;
    } else if (directory.executes) {
      answers_.missing.push_back("free space of " + directory.path + " (df -Pk)");
    }
    answers_.platform.directories.push_back(std::move(directory));
    return {};
  }

  std::string_view token_;
  bool complete_ = false;
  std::map<std::string, std::string, std::less<>> single_;
  ShellAnswers answers_;
};

class JsonReader {
 public:
  explicit JsonReader(const nlohmann::json& object) : object_(object) {}

  std::string text(const char* key, const nlohmann::json& in) {
    const auto at = in.find(key);
    if (at == in.end() || !at->is_string() || at->get_ref<const std::string&>().empty()) return {};
    return at->get<std::string>();
  }
  std::string needed(const char* key) {
    std::string value = text(key, object_);
    if (value.empty()) missing.emplace_back(key);
    return value;
  }
  std::int64_t number(const char* key, const nlohmann::json& in) {
    const auto at = in.find(key);
    if (at != in.end() && at->is_number_integer()) {
      const auto value = at->get<std::int64_t>();
      if (value >= 0) return value;
    }
    missing.emplace_back(key);
    return -1;
  }
  bool works(const char* key, const nlohmann::json& in) {
    const auto at = in.find(key);
    if (at == in.end() || !at->is_object()) return false;
    const auto works = at->find("works");
    return works != at->end() && works->is_boolean() && works->get<bool>();
  }

  std::vector<std::string> missing;

 private:
  const nlohmann::json& object_;
};

}  // namespace

std::string Platform::text() const {
  std::string text = shown_text(kernel) + " " + shown_text(machine);
  for (const SandboxLibrary& one : libraries) text += ", " + one.name + " " + one.version;
  if (libraries.empty()) text += ", no C library";
  return text;
}

const SandboxLibrary* Platform::library(std::string_view name) const {
  const auto at = std::ranges::find(libraries, name, &SandboxLibrary::name);
  return at == libraries.end() ? nullptr : &*at;
}

const SandboxDirectory* Platform::usable(std::uint64_t bytes) const {
  const auto at = std::ranges::find_if(directories, [&](const SandboxDirectory& one) {
    return one.executes && one.free_bytes >= bytes;
  });
  return at == directories.end() ? nullptr : &*at;
}

Expected<ShellAnswers> parse_shell_answers(std::string_view text, std::string_view token) {
  ShellReader reader(token);
  while (!text.empty()) {
    const auto read = reader.line(take(text, '\n'));
    if (!read) return fail(read.error());
  }
  return reader.take_answers();
}

Expected<Platform> parse_probe_answer(std::string_view json) {
  const auto object = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || object.value("schema", nlohmann::json()) != "quietus-probe") {
    return fail(ErrorKind::sandbox,
                "this is not what quietus probe --json says: '" + shown_text(json) + "'");
  }
  JsonReader reader(object);
  Platform platform{.kernel = reader.needed("kernel"),
                    .machine = machine_name(reader.needed("machine")),
                    .page_size = static_cast<std::uint64_t>(
                        std::max<std::int64_t>(0, reader.number("page_size", object))),
                    .uid = reader.number("uid", object),
                    .asked = "quietus probe"};
  const std::string first = reader.needed("c_library");
  const auto libraries = object.find("c_libraries");
  if (libraries != object.end() && libraries->is_array()) {
    for (const nlohmann::json& one : *libraries) {
      if (!one.is_object()) continue;
      SandboxLibrary library{.name = reader.text("name", one),
                             .version = reader.text("version", one),
                             .loader = reader.text("loader", one)};
      // A loader that is not recognised serves none of our programs.
      if (library.name != "glibc" && library.name != "musl") continue;
      if (library.version.empty()) reader.missing.push_back("version of " + library.name);
      platform.libraries.push_back(std::move(library));
    }
  } else {
    reader.missing.emplace_back("c_libraries");
  }
  if (first == "none" && !platform.libraries.empty()) {
    return contradiction("it has no C library, and " + platform.libraries.front().name);
  }
  const auto settled = settle_libraries(platform);
  if (!settled) return fail(settled.error());
  const auto directories = object.find("directories");
  if (directories != object.end() && directories->is_array()) {
    for (const nlohmann::json& one : *directories) {
      if (!one.is_object()) continue;
      SandboxDirectory directory{.path = reader.text("path", one)};
      directory.writes = reader.works("write", one);
      directory.executes = reader.works("execute", one);
      if (directory.writes) {
        directory.free_bytes =
            static_cast<std::uint64_t>(std::max<std::int64_t>(0, reader.number("free_bytes", one)));
      }
      if (!directory.executes) {
        directory.why = directory.writes ? "runs no programs (noexec)" : "cannot be written";
      }
      platform.directories.push_back(std::move(directory));
    }
  }
  if (platform.directories.empty()) reader.missing.emplace_back("directories");
  if (!reader.missing.empty()) {
    return fail(ErrorKind::sandbox,
                "the sandbox does not tell its " + joined(reader.missing, ", its "));
  }
  return platform;
}

}  // namespace quietus
