// bootstrap: a program that runs there, into a sandbox. cache: the tools that were downloaded.
#include <unistd.h>

#include <asio/post.hpp>
#include <filesystem>
#include <optional>

#include "cli/in_sandbox.hpp"
#include "cli/interruptible.hpp"
#include "cli/read_file.hpp"
#include "cli/verbs.hpp"
#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "quietus/bootstrap.hpp"

namespace quietus::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;

constexpr std::size_t kMostManifest = std::size_t{1} << 20;
constexpr int kExitDamaged = 1;
// What is over sooner needs no bar.
constexpr auto kBarAfter = 1s;

Expected<ToolManifest> read_manifest(const std::string& path) {
  const auto text = read_file(path, kMostManifest);
  if (text) return parse_manifest(*text, path);
  Error error{ErrorKind::input, "cannot read the manifest", {}};
  return fail(std::move(error).because(text.error()));
}

// A path where it has a slash, else NAME.toml in one of the folders; uv is built in.
Expected<ToolManifest> find_manifest(const std::string& what, const Services& services) {
  if (what.find('/') != std::string::npos || what.ends_with(".toml")) return read_manifest(what);
  std::error_code error;
  for (const std::string& folder : services.manifest_folders) {
    const std::string path = folder + '/' + what + ".toml";
    if (fs::is_regular_file(path, error)) return read_manifest(path);
  }
  if (what == "uv") return uv_manifest();
  std::string looked;
  for (const std::string& folder : services.manifest_folders) looked += ", " + folder;
  return fail(ErrorKind::input, "there is no tool '" + what + "': it is neither supervisor nor uv",
              "name a manifest, or put " + what + ".toml into one of" + looked.substr(1));
}

// The one on PATH, for a tool of ours that is known to run there.
std::string on_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? std::string_view() : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string candidate = std::string(rest.substr(0, end)) + '/' + name;
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::error_code error;
    const bool is_absolute = candidate.starts_with('/');
    if (is_absolute && fs::is_regular_file(candidate, error) &&
        access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return {};
}

json placed_json(const Placed& placed) {
  json libraries = json::array();
  for (const SandboxLibrary& one : placed.platform.libraries) {
    libraries.push_back({{"name", one.name}, {"version", one.version}, {"loader", one.loader}});
  }
  json directories = json::array();
  for (const SandboxDirectory& one : placed.platform.directories) {
    directories.push_back({{"path", one.path},
                           {"writes", one.writes},
                           {"executes", one.executes},
                           {"free_bytes", one.free_bytes}});
  }
  const auto known = [](const std::string& text) { return text.empty() ? json() : json(text); };
  return {{"path", placed.path},
          {"how", placed.how},
          {"sent", placed.sent},
          {"local", known(placed.local)},
          {"sha256", known(placed.sha256)},
          {"verified", !placed.unverified},
          {"notes", placed.notes},
          {"platform",
           {{"kernel", placed.platform.kernel},
            {"machine", placed.platform.machine},
            {"c_libraries", libraries},
            {"page_size", placed.platform.page_size},
            {"uid", placed.platform.uid},
            {"directories", directories},
            {"asked", placed.platform.asked}}}};
}

int refused(Screen& screen, const Error& error) {
  (void)told(screen, error);
  return kExitUsage;
}

int show(const CommandLine& line, Screen& screen, const Placed& placed) {
  if (placed.unverified) {
    screen.warn("no digest is known of what was downloaded: it is not verified");
  }
  if (screen.is_json()) {
    screen.json(placed_json(placed));
  } else if (line.print_path) {
    screen.out(placed.path + '\n');
  } else {
    const bool was_sent = placed.sent > 0;
    screen.out(placed.path + "\n  sandbox  " + placed.platform.text() + "\n  sent     " +
               (was_sent ? decimal(placed.sent) + " bytes (" + placed.how + ")"
                         : "nothing (" + placed.how + ")") +
               '\n');
    for (const std::string& note : placed.notes) screen.out("  note     " + note + '\n');
  }
  return kExitSuccess;
}

asio::awaitable<int> bootstrap(const CommandLine& line, const Services& services, Screen& screen,
                               std::optional<ToolManifest> manifest, Sandbox& sandbox) {
  BootstrapOptions options = services.bootstrap;
  if (!line.directories.empty()) options.directories = line.directories;
  options.dry_run = line.dry_run;
  options.fetch.allow_unverified = line.allow_unverified;
  if (!manifest) {
    const auto placed = co_await supervisor_for_sandbox(sandbox, std::move(options));
    co_return placed ? show(line, screen, *placed) : told(screen, placed.error());
  }
  options.host_program = on_path(manifest->name);
  if (screen.has_status_line()) {
    const auto executor = co_await asio::this_coro::executor;
    const std::string title = manifest->name + ' ' + manifest->version;
    const auto begin = std::chrono::steady_clock::now();
    // It comes from the thread that downloads.
    options.fetch.on_progress = [&screen, executor, title, begin](const FetchProgress& progress) {
      if (std::chrono::steady_clock::now() - begin < kBarAfter) return;
      asio::post(executor, [&screen, title, progress] {
        screen.progress(title, progress.received, progress.total);
      });
    };
  }
  const auto placed = co_await tool_for_sandbox(sandbox, *manifest, std::move(options));
  screen.clear_status();
  co_return placed ? show(line, screen, *placed) : told(screen, placed.error());
}

json entry_json(const CacheEntry& entry) {
  return {{"tool", entry.tool},
          {"version", entry.version},
          {"machine", entry.machine},
          {"url", entry.url},
          {"archive_sha256", entry.archive},
          {"program_sha256", entry.program_sha256},
          {"verified", entry.verified},
          {"size", entry.size},
          {"path", entry.program}};
}

int list_entries(const std::string& cache, Screen& screen) {
  const auto entries = list_cache(cache);
  if (screen.is_json()) {
    json array = json::array();
    for (const CacheEntry& entry : entries) array.push_back(entry_json(entry));
    screen.json({{"cache", cache}, {"entries", array}});
    return kExitSuccess;
  }
  for (const CacheEntry& entry : entries) {
    screen.out(entry.tool + ' ' + entry.version + ' ' + entry.machine + "  " + decimal(entry.size) +
               " bytes" + (entry.verified ? "" : "  unverified") + "\n  " + entry.program + '\n');
  }
  if (entries.empty()) screen.out("nothing in " + cache + '\n');
  return kExitSuccess;
}

int verify_entries(const std::string& cache, Screen& screen) {
  const auto troubles = verify_cache(cache);
  json array = json::array();
  for (const CacheTrouble& trouble : troubles) {
    array.push_back({{"path", trouble.path}, {"error", trouble.why}});
    if (!screen.is_json()) screen.out(trouble.path + ": " + trouble.why + '\n');
  }
  if (screen.is_json()) screen.json({{"cache", cache}, {"damaged", array}});
  if (troubles.empty()) return kExitSuccess;
  screen.error("the cache is damaged; remove that with quietusctl cache prune");
  return kExitDamaged;
}

}  // namespace

int bootstrap_verb(const CommandLine& line, const Services& services, Screen& screen) {
  // What was typed or written wrongly is found before a sandbox is touched.
  if (const auto mirror = check_mirror(services.bootstrap.fetch.mirror); !mirror) {
    return refused(screen, mirror.error());
  }
  std::optional<ToolManifest> manifest;
  if (line.words.front() != "supervisor") {
    auto found = find_manifest(line.words.front(), services);
    if (!found) return refused(screen, found.error());
    manifest = std::move(*found);
  }
  Work work = [&](Sandbox& sandbox) {
    return bootstrap(line, services, screen, manifest, sandbox);
  };
  return run_interruptible(screen, in_sandbox(services, screen, std::move(work)));
}

int cache_verb(const CommandLine& line, const Services& services, Screen& screen) {
  const std::string& cache = services.bootstrap.fetch.cache;
  if (cache.empty()) {
    return told(screen, Error{ErrorKind::input, "there is no place for a cache",
                              "set XDG_CACHE_HOME or HOME"});
  }
  if (line.words.front() == "list") return list_entries(cache, screen);
  if (line.words.front() == "verify") return verify_entries(cache, screen);
  const auto pruned = prune_cache(cache, line.all, line.dry_run);
  if (!pruned) return told(screen, pruned.error());
  if (screen.is_json()) {
    screen.json({{"cache", cache},
                 {"removed", pruned->removed},
                 {"bytes", pruned->bytes},
                 {"dry_run", line.dry_run}});
    return kExitSuccess;
  }
  for (const std::string& path : pruned->removed) screen.out(path + '\n');
  screen.news(decimal(pruned->bytes) + (line.dry_run ? " bytes would be freed" : " bytes freed"));
  return kExitSuccess;
}

}  // namespace quietus::cli
