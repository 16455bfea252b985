#include "cli/find_adapter.hpp"

#include <filesystem>

namespace quietus::cli {

namespace fs = std::filesystem;

Expected<std::shared_ptr<const Adapter>> find_adapter(const std::string& name,
                                                      const std::string& executable) {
  if (name.find('/') != name.npos || name.ends_with(".toml")) return load_adapter(name);
  std::error_code error;
  const fs::path folder = fs::canonical(executable, error).parent_path();
  // Installed beside us, where we were built to be installed, and in the sources of a build tree.
  const fs::path places[] = {folder / "../share/quietus/adapters", QUIETUS_ADAPTERS_DIR,
                             folder / "../../adapters"};
  std::string looked;
  for (const fs::path& place : places) {
    const fs::path file = (place / (name + ".toml")).lexically_normal();
    if (fs::is_regular_file(file, error)) return load_adapter(file);
    looked += (looked.empty() ? "" : ", ") + file.string();
  }
  return fail(ErrorKind::input, "there is no adapter '" + name + "': looked for " + looked,
              "name a file");
}

}  // namespace quietus::cli
