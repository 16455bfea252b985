// An entry of the ledger, and patterns of artifacts. What is believed of an entry may be stopped
// and removed: so it names a session directory of its own and nothing else, and is written as it
// was read. A pattern never leads out of the folder that it begins in.
//
// Module: cli/artifact_pattern.cpp cli/ledger_entry.cpp
#include <algorithm>
#include <string>

#include "cli/artifact_pattern.hpp"
#include "cli/ledger_entry.hpp"
#include "property.hpp"

using fuzz::require;
using namespace quietus::cli;

namespace {

void check_entry(std::string_view text) {
  const auto entry = parse_ledger_entry(text);
  if (!entry) {
    require(!entry.error().message.empty(), "a refusal says why");
    return;
  }
  require(entry->directory.starts_with('/'), "the directory is absolute");
  require(entry->directory.ends_with("/quietus-" + entry->id), "and this session's own");
  require(entry->directory.find("/../") == std::string::npos, "and leads nowhere else");
  require(entry->id.size() == 32, "the id is one of ours");
  require(entry->into.empty() || entry->into.starts_with('/'), "artifacts go to an absolute path");
  const std::string written = ledger_json(*entry);
  const auto again = parse_ledger_entry(written);
  require(again.has_value(), "what is written is an entry");
  require(ledger_json(*again) == written, "and the same one");
}

void check_pattern(std::string_view text) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view glob = text.substr(0, line);
  const std::string_view path = text.substr(std::min(line + 1, text.size()));
  const auto pattern = parse_pattern(glob, "/work");
  if (!pattern) return require(!pattern.error().empty(), "a refusal has its rule");
  require(pattern->under.empty() || !pattern->under.starts_with('/'), "under is relative");
  require(('/' + pattern->under + '/').find("/../") == std::string::npos, "and stays below");
  const auto rest = pattern->glob.match(path);
  if (!rest) return;
  require(path.ends_with(*rest), "what is below is the rest of the path");
  require(('/' + *rest + '/').find("/../") == std::string::npos, "and stays below");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check_entry(text);
  check_pattern(text);
  return 0;
}
