// The manifests of tools: what there is to download for which sandbox. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quietus/platform.hpp"

namespace quietus {

struct ToolTarget {
  std::string machine = {};
  std::string library = "static";    // static, glibc, musl
  std::string library_version = {};  // at least this one
  std::string url = {};
  std::string sha256 = {};  // empty: not known, and refused without allow_unverified
  std::string member = {};  // its path in the archive; empty: the file is the program
};

struct ToolManifest {
  std::string name = {};
  std::string version = {};
  std::string digests_from = {};
  std::vector<std::string> check = {};
  std::string expect = {};  // the output of the check starts with it
  std::vector<ToolTarget> targets = {};
};
// Pure. The error (input) names the place.
Expected<ToolManifest> parse_manifest(std::string_view toml, std::string_view shown);
// The one that is built in: uv.
const ToolManifest& uv_manifest();
std::string_view uv_manifest_text();
// A static target first, then one whose C library is there. The error (sandbox) lists the targets.
Expected<ToolTarget> choose_target(const ToolManifest& manifest, const Platform& platform);

}  // namespace quietus
