// The manifests of tools: TOML, in which an unknown key is a misspelt one.
#include <algorithm>
#include <initializer_list>

#include "client/bootstrap/digest.hpp"
#include "client/bootstrap/words.hpp"
#include "quietus/toml_fault.hpp"
#include "quietus/tool_manifest.hpp"
#include "quietus_uv_manifest.hpp"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace quietus {
namespace {

constexpr std::size_t kMostTargets = 64;
constexpr std::size_t kMostName = 64;

// What becomes a file name: nothing that could lead anywhere else.
bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= kMostName && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-' || c == '+';
         });
}

bool is_line(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_relative(std::string_view path) {
  if (path.starts_with('/') || path.ends_with('/')) return false;
  while (!path.empty()) {
    const std::string_view part = take(path, '/');
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

class Reader {
 public:
  explicit Reader(std::string_view shown) : shown_(shown) {}

  bool known(const toml::table& table, std::initializer_list<std::string_view> keys) {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(keys, key.str()) == keys.end()) {
        return wrong(value.source(), "'" + shown_text(key.str()) + "' is not a key of a manifest");
      }
    }
    return true;
  }

  enum class Need { optional, required };
  bool text(const toml::table& table, const char* key, Need need, std::string& into) {
    const toml::node* const node = table.get(key);
    if (node == nullptr) {
      return need == Need::optional || wrong(table.source(), missing(key));
    }
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty() || !is_line(*value)) {
      return wrong(node->source(), "'" + std::string(key) + "' must be a text on one line");
    }
    into = *value;
    return true;
  }

  bool words(const toml::table& table, const char* key, std::vector<std::string>& into) {
    const toml::node* const node = table.get(key);
    if (node == nullptr) return true;
    const toml::array* const array = node->as_array();
    if (array == nullptr) return wrong(node->source(), list(key));
    for (const toml::node& element : *array) {
      const auto word = element.value_exact<std::string>();
      if (!word || !is_line(*word)) return wrong(node->source(), list(key));
      into.push_back(*word);
    }
    return true;
  }

  bool target(const toml::table& table, ToolTarget& into) {
    if (!known(table, {"machine", "library", "library_version", "url", "sha256", "member"}) ||
        !text(table, "machine", Need::required, into.machine) ||
        !text(table, "library", Need::optional, into.library) ||
        !text(table, "library_version", Need::optional, into.library_version) ||
        !text(table, "url", Need::required, into.url) ||
        !text(table, "sha256", Need::optional, into.sha256) ||
        !text(table, "member", Need::optional, into.member)) {
      return false;
    }
    into.machine = machine_name(into.machine);
    if (into.library != "static" && into.library != "glibc" && into.library != "musl") {
      return wrong(table.source(), "'library' must be static, glibc or musl");
    }
    if (into.library == "static" && !into.library_version.empty()) {
      return wrong(table.source(), "a static target has no 'library_version'");
    }
    if (!into.library_version.empty() && !compare_versions(into.library_version, "0")) {
      return wrong(table.source(), "'library_version' must be a version (2.17)");
    }
    if (!is_url(into.url)) {
      return wrong(table.source(), "'url' must start with https://, http:// or file:///");
    }
    if (!into.sha256.empty() && !is_sha256(into.sha256)) {
      return wrong(table.source(), "'sha256' must be 64 hexadecimal digits in lower case");
    }
    if (!into.member.empty() && !is_relative(into.member)) {
      return wrong(table.source(), "'member' must be a path in the archive, without . and ..");
    }
    return true;
  }

  bool wrong(const toml::source_region& where, std::string_view why) {
    error_ = Error{ErrorKind::input,
                   "manifest '" + std::string(shown_) + "', line " +
                       std::to_string(where.begin.line) + ": " + std::string(why),
                   "see docs/bootstrap.md"};
    return false;
  }
  [[nodiscard]] Error error() const { return error_; }

 private:
  static std::string missing(const char* key) { return "'" + std::string(key) + "' is missing"; }
  static std::string list(const char* key) {
    return "'" + std::string(key) + "' must be a list of words";
  }
  std::string_view shown_;
  Error error_;
};

std::string target_text(const ToolTarget& target) {
  std::string text = target.machine + " " + target.library;
  if (!target.library_version.empty()) text += " " + target.library_version;
  return text;
}

// Whether it runs there; a library is there in the version or a newer one.
bool fits(const ToolTarget& target, const Platform& platform) {
  if (target.machine != platform.machine) return false;
  if (target.library == "static") return true;
  const SandboxLibrary* const library = platform.library(target.library);
  if (library == nullptr) return false;
  if (target.library_version.empty()) return true;
  return compare_versions(library->version, target.library_version).value_or(-1) >= 0;
}

}  // namespace

Expected<ToolManifest> parse_manifest(std::string_view toml, std::string_view shown) {
  Reader reader(shown);
  const auto* const strange = std::ranges::find_if(
      toml, [](char c) { return (c < ' ' && c != '\n' && c != '\r' && c != '\t') || c > '~'; });
  if (strange != toml.end()) {
    toml::source_region where;
    where.begin.line = static_cast<toml::source_index>(1 + std::count(toml.begin(), strange, '\n'));
    (void)reader.wrong(where, "a manifest holds nothing but ASCII");
    return fail(reader.error());
  }
  if (const auto fault = find_toml_fault(toml)) {
    toml::source_region where;
    where.begin.line = fault->line;
    (void)reader.wrong(where, fault->rule);
    return fail(reader.error());
  }
  const toml::parse_result parsed = toml::parse(toml);
  const toml::table& table = parsed.table();
  using Need = Reader::Need;
  ToolManifest manifest;
  if (!reader.known(table, {"name", "version", "digests_from", "check", "expect", "target"}) ||
      !reader.text(table, "name", Need::required, manifest.name) ||
      !reader.text(table, "version", Need::required, manifest.version) ||
      !reader.text(table, "digests_from", Need::optional, manifest.digests_from) ||
      !reader.words(table, "check", manifest.check) ||
      !reader.text(table, "expect", Need::optional, manifest.expect)) {
    return fail(reader.error());
  }
  const auto wrong = [&](std::string_view why) {
    (void)reader.wrong(table.source(), why);
    return fail(reader.error());
  };
  if (!is_plain_name(manifest.name)) return wrong("'name' must be a plain file name");
  if (!manifest.expect.empty() && manifest.check.empty()) return wrong("'expect' needs a 'check'");
  const toml::array* const targets = table["target"].as_array();
  if (targets == nullptr || targets->empty()) return wrong("there is no [[target]]");
  if (targets->size() > kMostTargets) return wrong("there are too many targets");
  for (const toml::node& node : *targets) {
    const toml::table* const one = node.as_table();
    ToolTarget target;
    if (one == nullptr) return wrong("'target' must be tables: [[target]]");
    if (!reader.target(*one, target)) return fail(reader.error());
    for (const ToolTarget& other : manifest.targets) {
      if (target_text(other) != target_text(target)) continue;
      (void)reader.wrong(one->source(), "there are two targets for " + target_text(target));
      return fail(reader.error());
    }
    manifest.targets.push_back(std::move(target));
  }
  return manifest;
}

std::string_view uv_manifest_text() { return kUvManifest; }

const ToolManifest& uv_manifest() {
  static const ToolManifest manifest = parse_manifest(kUvManifest, "uv.toml").value();
  return manifest;
}

Expected<ToolTarget> choose_target(const ToolManifest& manifest, const Platform& platform) {
  std::vector<std::string> there;
  const ToolTarget* best = nullptr;
  for (const ToolTarget& target : manifest.targets) {
    there.push_back(target_text(target));
    if (platform.kernel != "Linux" || !fits(target, platform)) continue;
    if (best == nullptr || (target.library == "static" && best->library != "static")) {
      best = &target;
    }
  }
  if (best != nullptr) return *best;
  return fail(ErrorKind::sandbox,
              "no build of " + manifest.name + " " + manifest.version + " is known for " +
                  platform.text() + "; there are " + joined(there, ", "),
              "add a [[target]] to a manifest of your own, and name its file");
}

}  // namespace quietus
