// supervisor.id: any bytes are read without harm; what we write from a /proc of any bytes is JSON
// that reads back as what was read there.
//
// Module: session/identity_reader.cpp supervisor/identity.cpp
#include <algorithm>
#include <string>
#include <vector>

#include "contract/session_files.hpp"
#include "json_reader.hpp"
#include "kernel/procfs.hpp"
#include "paper_kernel.hpp"
#include "property.hpp"
#include "session/identity_reader.hpp"
#include "supervisor/identity.hpp"

using fuzz::require;

namespace {

void check_any(std::string_view bytes) {
  const quietus::Identity identity = quietus::parse_identity(bytes);
  for (const auto& half : identity.halves) require(half.pid > 0, "a half has a number");
  require(identity.halves.size() * 15 <= bytes.size(), "each half stands in the text");
  for (const auto& span : {identity.started, identity.timeout}) {
    require(!span || (*span > quietus::Span{} && *span <= quietus::kForever), "times are bounded");
  }
}

// The same from the file, of which only the beginning is read.
void check_file(std::string_view bytes) {
  fuzz::PaperKernel kernel;
  kernel.files[quietus::kSessionFiles.identity] = bytes.substr(0, 4096);
  const auto directory =
      quietus::SessionDirectory::open(kernel, "/session", quietus::kSessionFiles);
  const quietus::Identity identity = quietus::read_identity(kernel, *directory);
  require(identity.halves.size() == quietus::parse_identity(bytes.substr(0, 4096)).halves.size(),
          "a file holds what its text does");
  require(kernel.changes.empty() && kernel.sent.empty(), "it only reads");
}

void check_written(fuzz::Input input) {
  fuzz::PaperKernel kernel;
  quietus::Options options;
  if (const std::int64_t timeout = input.number(); timeout >= 1000) {
    options.timeout = quietus::Span(std::min<std::int64_t>(timeout, quietus::kForever.count()));
  }
  kernel.files["/proc/2/stat"] = input.word('\x1f');
  kernel.files["/proc/3/stat"] = input.word('\x1f');
  kernel.files["/proc/sys/kernel/random/boot_id"] = input.word('\x1f');
  kernel.links["/proc/self/ns/pid"] = input.word('\x1f');
  const std::string text = quietus::identity_json(kernel, 2, 3, options);
  require(fuzz::read_json(text).is_object(), "an identity is JSON");
  const quietus::Identity identity = quietus::parse_identity(text);
  std::vector<quietus::NamedHalf> expected;
  for (const int pid : {2, 3}) {
    const auto row =
        quietus::sys::parse_stat(kernel.files["/proc/" + std::to_string(pid) + "/stat"]);
    // Larger than any uptime: written as a negative number, and then it names nobody.
    if (row && row->start_ticks <= INT64_MAX) expected.push_back({pid, row->start_ticks});
  }
  require(identity.halves.size() == expected.size(), "the halves with a start time are read back");
  for (std::size_t at = 0; at < expected.size(); ++at) {
    require(identity.halves[at].pid == expected[at].pid &&
                identity.halves[at].start_ticks == expected[at].start_ticks,
            "as they were");
  }
  require(identity.started.has_value(), "and the start");
  require(identity.timeout.has_value() == options.timeout.has_value(), "and the deadline");
  if (!options.timeout) return;
  require(*options.timeout - *identity.timeout < std::chrono::microseconds(1) &&
              *identity.timeout <= *options.timeout,
          "to the microsecond");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  check_any(bytes);
  check_file(bytes);
  check_written(fuzz::Input(bytes));
  return 0;
}
