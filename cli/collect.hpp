// Artifacts: what matches the patterns inside, fetched whole or not at all, placed below one
// directory and nowhere else.
#pragma once

#include <asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "quietus/sandbox.hpp"

namespace quietus::cli {

struct CollectRequest {
  std::vector<std::string> globs;
  std::string workdir;           // inside, where relative patterns begin; empty: the sandbox's own
  std::string into;              // on this machine
  std::string arriving;          // the same file system: where they wait until they are whole
  std::uint64_t most_bytes = 0;  // all of them together
};

struct Artifact {
  std::string inside;
  std::string local;
  std::uint64_t bytes = 0;
};

struct Collection {
  std::vector<Artifact> artifacts = {};
  std::vector<std::string> missing = {};  // patterns that nothing matched
  std::vector<Error> problems = {};       // what is there and did not come
};

asio::awaitable<Collection> collect_artifacts(Sandbox& sandbox, CollectRequest request);

}  // namespace quietus::cli
