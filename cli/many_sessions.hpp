// Many sessions from one process, so many at a time; one line comes for each as they end.
#pragma once

#include <vector>

#include "cli/jobs.hpp"
#include "cli/render.hpp"
#include "cli/services.hpp"

namespace quietus::cli {

int run_many(std::vector<Job> jobs, const Services& services, Screen& screen);

// The last words on a session, for people: always where something went wrong.
void tell_end(Screen& screen, const SessionResult& result);

}  // namespace quietus::cli
