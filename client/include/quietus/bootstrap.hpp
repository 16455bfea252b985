// The right binary for a sandbox that nobody described: asks the sandbox what it is, and puts a
// program there that runs. The supervisor is one such program; tools (uv) are described by
// manifests, fetched with their digests checked, and kept in a cache.
//
// Its own library (quietus::bootstrap), because it needs libcurl, libarchive and libcrypto. As the
// rest it prints nothing; libcurl itself reads the usual proxy variables and ~/.netrc.
#pragma once

#include <asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quietus/payload.hpp"
#include "quietus/platform.hpp"  // IWYU pragma: export
#include "quietus/sandbox.hpp"
#include "quietus/tool_manifest.hpp"  // IWYU pragma: export

namespace quietus {

// --- programs -----------------------------------------------------------------------------------

// A program on this machine, to be placed in a sandbox.
struct LocalProgram {
  std::string path = {};
  std::string name = {};  // its file name inside
  std::string sha256 = {};
  std::uint64_t size = 0;
  std::string machine = {};
  // Run after the upload; its output has to satisfy `accepts`, which says what is wrong, or
  // nothing.
  std::vector<std::string> check = {};
  std::function<std::string(std::string_view out)> accepts = {};
};

// The supervisor's builds: quietus-MACHINE beside the executable or in its libexec folder, each
// listed in SHA256SUMS there, or those of the build tree; else what find_payload() finds, if it is
// static. One that is listed and differs is an error (input). An explicit path is the only one.
Expected<std::vector<LocalProgram>> find_supervisors(const PayloadSearch& search);
Expected<LocalProgram> supervisor_program(const std::string& path);

// --- the cache ----------------------------------------------------------------------------------

struct FetchProgress {
  std::uint64_t received = 0;
  std::optional<std::uint64_t> total = {};
};

struct FetchOptions {
  std::string cache = {};   // cache_directory()
  std::string mirror = {};  // QUIETUS_MIRROR: MIRROR/HOST/PATH takes the place of https://HOST/PATH
  std::string ca_bundle = {};
  std::string netrc = {};  // empty: ~/.netrc where there is one
  bool allow_unverified = false;
  int attempts = 5;                            // that bring nothing new, in a row
  std::chrono::milliseconds first_pause{500};  // doubled after each failed attempt, with chance
  std::chrono::seconds stall{30};              // without a byte
  std::chrono::milliseconds patience{std::chrono::hours(1)};  // with another who downloads the same
  std::uint64_t most_bytes = std::uint64_t{1} << 30;          // of the download
  std::uint64_t most_unpacked = std::uint64_t{4} << 30;       // of the archive's members together
  // From another thread, some times a second.
  std::function<void(const FetchProgress&)> on_progress = {};
  // Asked all the time, from another thread: ends it with an error of kind cancelled.
  std::function<bool()> cancelled = {};
};

// Whether it can be the base of a mirror, or is empty; the error (input) says what one is.
Expected<void> check_mirror(std::string_view mirror);

// XDG_CACHE_HOME/quietus, else HOME/.cache/quietus; empty texts: not set. Empty: neither.
std::string cache_directory(std::string_view xdg_cache_home, std::string_view home);

struct CacheEntry {
  std::string key = {};
  std::string tool = {};
  std::string version = {};
  std::string machine = {};
  std::string url = {};      // where it came from, the mirror included
  std::string archive = {};  // SHA-256 of what was downloaded
  bool verified = false;     // the digest was in a manifest
  std::string member = {};
  std::string program_sha256 = {};
  std::uint64_t size = 0;
  std::string program = {};  // the path
};

// Blocks. From the cache, else downloaded, checked, unpacked and put there; of many callers at the
// same time one does the work. What stands in the cache is checked again at each use.
struct Fetched {
  CacheEntry entry = {};
  std::uint64_t downloaded = 0;  // bytes; 0: it was there
};
Expected<Fetched> fetch_tool(const ToolManifest& manifest, const ToolTarget& target,
                             const FetchOptions& options);
// The same in a thread of its own.
asio::awaitable<Expected<Fetched>> fetch_tool_async(ToolManifest manifest, ToolTarget target,
                                                    FetchOptions options);

// Entries, in the order of their names. What is no entry is passed over.
std::vector<CacheEntry> list_cache(const std::string& cache);
struct CacheTrouble {
  std::string path = {};
  std::string why = {};
};
// Whatever is not as it was put there.
std::vector<CacheTrouble> verify_cache(const std::string& cache);
struct Pruned {
  std::vector<std::string> removed = {};
  std::uint64_t bytes = 0;
};
// Damaged entries, halves of downloads, unverified entries, and with `all` every entry. What is in
// use by a download at the moment stays. With dry_run it only says.
Expected<Pruned> prune_cache(const std::string& cache, bool all, bool dry_run);

// --- placing ------------------------------------------------------------------------------------

struct BootstrapOptions {
  // Tried in this order; the program goes to DIRECTORY/quietus-UID/DIGEST/NAME, and where there is
  // no shell to DIRECTORY/NAME-DIGEST.
  std::vector<std::string> directories = {"/tmp", "/var/tmp", "/dev/shm", "/run", "/opt"};
  // find_supervisors(): read once for many sandboxes.
  std::vector<LocalProgram> supervisors = {};
  FetchOptions fetch = {};
  // This machine's own tool, used where it is known to run and has the manifest's version; empty:
  // none.
  std::string host_program = {};
  // Only says what would be done: nothing is downloaded or left inside.
  bool dry_run = false;
};

struct Placed {
  std::string path = {};  // inside; with dry_run where it would be
  Platform platform = {};
  std::string local = {};               // what was sent, or would be
  std::string sha256 = {};              // empty with dry_run and no download yet
  std::uint64_t sent = 0;               // bytes; 0: it was there
  std::string how = {};                 // "present", "cat", "upload", "mounted", "dry run"
  bool unverified = false;              // no digest was known for what was downloaded
  std::vector<std::string> notes = {};  // what was tried and left
};

asio::awaitable<Expected<Platform>> probe_platform(Sandbox& sandbox, BootstrapOptions options);
asio::awaitable<Expected<Placed>> supervisor_for_sandbox(Sandbox& sandbox,
                                                         BootstrapOptions options);
asio::awaitable<Expected<Placed>> tool_for_sandbox(Sandbox& sandbox, ToolManifest manifest,
                                                   BootstrapOptions options);
asio::awaitable<Expected<Placed>> uv_for_sandbox(Sandbox& sandbox, BootstrapOptions options);

// For sessions: the build that fits each sandbox. `usual` comes first, as payload_file(usual) does
// it; only where it does not run is the sandbox asked what it is, and what then runs is left there
// for the next session (see `directories`). Empty: always ask.
std::shared_ptr<PayloadSource> bootstrap_payload(std::string usual, BootstrapOptions options);

}  // namespace quietus
