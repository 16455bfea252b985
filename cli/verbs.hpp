// What each verb does: from a command line that is right to an exit code.
#pragma once

#include "cli/command_line.hpp"
#include "cli/render.hpp"
#include "cli/services.hpp"

namespace quietus::cli {

int run_verb(const CommandLine& line, const Services& services, Screen& screen);
int batch_verb(const CommandLine& line, const Services& services, Screen& screen);

int exec_verb(const CommandLine& line, const Services& services, Screen& screen);
int put_verb(const CommandLine& line, const Services& services, Screen& screen);
int get_verb(const CommandLine& line, const Services& services, Screen& screen);
int doctor_verb(const CommandLine& line, const Services& services, Screen& screen);

int bootstrap_verb(const CommandLine& line, const Services& services, Screen& screen);
int cache_verb(const CommandLine& line, const Services& services, Screen& screen);

int stop_verb(const CommandLine& line, const Services& services, Screen& screen);
int status_verb(const CommandLine& line, const Services& services, Screen& screen);
int list_verb(const CommandLine& line, const Services& services, Screen& screen);
int gc_verb(const CommandLine& line, const Services& services, Screen& screen);

int receipt_verb(const CommandLine& line, Screen& screen);
int config_verb(const CommandLine& line, const Layer& layer, Screen& screen);
int version_verb(Screen& screen);

}  // namespace quietus::cli
