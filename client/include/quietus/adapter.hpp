// How to run one harness in any sandbox: install it, stage its files, build its command, fetch its
// artifacts, read its result. load_adapter reads that from a TOML file (docs/adapters.md has every
// key); whoever needs more derives from Adapter.
//
//     auto adapter = load_adapter("adapters/opencode.toml");
//     AdapterRun run{.session = session.directory(), .workdir = "/work", .input = "task.md"};
//     Stage stage = [&] { return (*adapter)->stage(sandbox, run); };
//     Collect collect = [&]() -> asio::awaitable<Expected<Artifacts>> {
//       collected = co_await (*adapter)->collect(sandbox, run);
//       ...
//     };
//     co_await session.execute(stage, collect, 10min, 30s);
//     const auto result = (*adapter)->read_result(collected, session.cleanup());
#pragma once

#include <asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/receipt.hpp"
#include "quietus/error.hpp"
#include "quietus/sandbox.hpp"
#include "quietus/session.hpp"

namespace quietus {

using Progress = std::function<void(std::string_view)>;

// One run of a harness, as whoever starts it sees it.
struct AdapterRun {
  std::string session;                      // {session}: the session directory inside
  std::string workdir = {};                 // {workdir}: where the command runs; empty: not said
  std::string input = {};                   // a file on this machine, staged for {input}
  std::vector<std::string> arguments = {};  // {arguments}: the words behind `--`
  std::map<std::string, std::string, std::less<>> parameters = {};  // {param.NAME}
  // {env:NAME}: a variable of this machine. The library itself reads no environment.
  std::function<std::optional<std::string>(std::string_view)> environment = {};
  // On this machine, made when the first artifact comes; empty: no artifacts are fetched.
  std::string into = {};
  // Gets a line for each step that may take a while; empty: nobody.
  Progress progress = {};
};

// What a harness leaves. The pattern is absolute (docs/adapters.md has its rules): * ? [] in a
// name,
// ** for any number of names. Without any of these it names one file, or a whole tree.
struct Artifact {
  std::string glob;
  std::string into = {};                              // below the destination
  std::uint64_t most_bytes = std::uint64_t{1} << 30;  // of all its files
  std::uint64_t most_files = 10000;
  bool required = false;
};

struct CollectedFile {
  std::string inside;  // where it was
  std::string local;   // below AdapterRun::into; a file, or a whole tree
  std::uint64_t bytes = 0;
};

struct Collected {
  std::vector<CollectedFile> files = {};
  std::vector<Error> problems = {};              // what is missing, too large or would not come
  std::optional<std::string> result_bytes = {};  // for read_result
  std::optional<Error> result_error = {};        // why there are none
};

struct HarnessResult {
  std::string json;                      // the value, as JSON
  std::optional<std::string> text = {};  // the same where it is a text, as it is
};

// What --param may set.
struct AdapterParameter {
  std::string name;
  std::string description = {};
  std::string variable = {};                      // of this machine, asked when it is not set
  std::optional<std::string> default_value = {};  // none, and no variable: it must be set
};

class Adapter {
 public:
  Adapter() = default;
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;
  virtual ~Adapter() = default;

  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual const std::string& description() const = 0;
  [[nodiscard]] virtual const std::vector<AdapterParameter>& parameters() const = 0;

  // Installs what is missing, brings in the files, and says what to launch. May be repeated, but a
  // tree among the files does not replace anything.
  virtual asio::awaitable<Expected<SessionCommand>> stage(Sandbox& sandbox,
                                                          const AdapterRun& run) const = 0;
  // Once the harness has ended. Fetches what there is; what fails is a problem beside it.
  virtual asio::awaitable<Collected> collect(Sandbox& sandbox, const AdapterRun& run) const = 0;
  // Pure. The error (sandbox) says why the harness left no result that can be read.
  [[nodiscard]] virtual Expected<HarnessResult> read_result(const Collected& collected,
                                                            const Receipt& receipt) const = 0;
};

// Fetches what there is into a directory of this machine; what fails is a problem beside it. A file
// keeps its path behind the part of the pattern that has no wildcards; nothing comes outside
// `into`, and symbolic links are not followed. Needs `find` inside, except for a plain path.
asio::awaitable<Collected> fetch_artifacts(Sandbox& sandbox, std::vector<Artifact> artifacts,
                                           std::string into, Progress progress = {});

// The adapter that a TOML text describes; `file` is its name in errors, and relative paths in it
// start from its folder. The error (input) is one line: file, line, key, value and the rule.
Expected<std::shared_ptr<const Adapter>> parse_adapter(std::string_view toml,
                                                       std::string_view file);
Expected<std::shared_ptr<const Adapter>> load_adapter(const std::string& file);

}  // namespace quietus
