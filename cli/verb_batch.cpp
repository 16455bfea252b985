// batch: the jobs of a file.
#include "cli/many_sessions.hpp"
#include "cli/read_file.hpp"
#include "cli/verbs.hpp"
#include "contract/exit_code.hpp"

namespace quietus::cli {
namespace {

constexpr std::size_t kMostJobs = std::size_t{256} << 20;

}  // namespace

int batch_verb(const CommandLine& line, const Services& services, Screen& screen) {
  const std::string& path = line.words.front();
  const auto text = read_file(path, kMostJobs);
  if (!text) {
    screen.error("batch: " + text.error().text());
    return kExitUsage;
  }
  auto jobs = parse_jobs(*text, path, services.settings);
  if (!jobs) {
    screen.error(jobs.error().text);
    return kExitUsage;
  }
  for (Job& job : *jobs) {
    job.plan.kept_output = screen.is_json() ? kOutputInJson : 0;
    // Said before anything is made.
    const auto transport =
        transport_from_name(job.plan.sandbox, transport_options(services, "check"));
    if (!transport) {
      screen.error("job " + job.name + ": " + transport.error().message +
                   " (see quietusctl help sandboxes)");
      return kExitUsage;
    }
  }
  return run_many(std::move(*jobs), services, screen);
}

}  // namespace quietus::cli
