// Manifests of tools: one that is accepted holds nothing that could lead anywhere but to its own
// place in the cache; one that is refused says why on one line.
//
// Module: client/bootstrap/manifest.cpp
#include <algorithm>
#include <string>
#include <vector>

#include "property.hpp"
#include "quietus/tool_manifest.hpp"

using fuzz::require;

namespace {

bool is_inside(std::string_view path) {
  return !path.starts_with('/') && ("/" + std::string(path) + "/").find("/../") == path.npos;
}

void check(const quietus::ToolTarget& target) {
  require(target.sha256.empty() || target.sha256.size() == 64, "a digest is whole");
  require(is_inside(target.member), "a member lies in the archive");
  require(target.url.starts_with("https://") || target.url.starts_with("http://") ||
              target.url.starts_with("file:///"),
          "a URL is of a kind that is fetched");
}

// A build that is chosen runs there.
void check_choice(const quietus::ToolManifest& manifest) {
  const std::vector<quietus::SandboxLibrary> kinds[] = {
      {},
      {{.name = "glibc", .version = "2.36"}},
      {{.name = "musl", .version = "1.2.3"}, {.name = "glibc", .version = "odd"}}};
  for (const char* machine : {"x86_64", "aarch64"}) {
    for (const auto& libraries : kinds) {
      const quietus::Platform platform{
          .kernel = "Linux", .machine = machine, .libraries = libraries};
      const auto chosen = quietus::choose_target(manifest, platform);
      if (!chosen) {
        require(chosen.error().text().find('\n') == std::string::npos, "none is told on one line");
        continue;
      }
      require(chosen->machine == machine, "a build is for the machine");
      require(chosen->library == "static" || platform.library(chosen->library) != nullptr,
              "its C library is there");
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto manifest = quietus::parse_manifest(fuzz::text_of(data, size), "m.toml");
  if (!manifest) {
    const std::string text = manifest.error().text();
    require(!text.empty() && text.find('\n') == text.npos, "a refusal is one line");
    return 0;
  }
  require(!manifest->name.empty() && manifest->name.find('/') == std::string::npos &&
              !manifest->name.starts_with('.'),
          "a name is a file name");
  require(!manifest->targets.empty(), "there is a target");
  std::ranges::for_each(manifest->targets, check);
  check_choice(*manifest);
  return 0;
}
