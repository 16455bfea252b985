// batch: the jobs of a file.
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/many_sessions.hpp"
#include "cli/verbs.hpp"
#include "contract/exit_code.hpp"

namespace quietus::cli {

int batch_verb(const CommandLine& line, const Services& services, Screen& screen) {
  const std::string& path = line.words.front();
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& from = path == "-" ? std::cin : file;
  const std::string text((std::istreambuf_iterator<char>(from)), {});
  if ((path != "-" && !file.is_open()) || from.bad()) {
    screen.error("batch: cannot read '" + path + "'");
    return kExitUsage;
  }
  auto jobs = parse_jobs(text, path, services.settings);
  if (!jobs) {
    screen.error(jobs.error().text);
    return kExitUsage;
  }
  for (const Job& job : *jobs) {
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
