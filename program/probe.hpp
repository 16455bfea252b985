// quietus probe: what this place is, and what works in it. For a controller, which has to choose
// what it sends here, and for people.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernel/calls.hpp"
#include "program/c_library.hpp"
#include "program/directory_trial.hpp"
#include "program/page.hpp"
#include "program/trials.hpp"

namespace quietus {

inline constexpr int kProbeVersion = 1;

struct Place {
  utsname platform{};  // empty texts: not told
  CLibraries c_libraries;
  int page_size = -1;  // -1: not told
  std::int64_t uid = -1;
  std::array<Directory, 2> directories;
  MeansTrials means;
};

// Looks, and tries; in /tmp, and in the directory given, else the working directory. Blocks all
// signals for good: nothing may interrupt what has to be tidied up. The place stays in memory that
// is shared with children; without any there is none, which is told on descriptor 2.
sys::Result<Place*> examine(sys::Gate& gate, std::string_view directory = {});

// The verb: prints to descriptor 1 and returns the exit code.
int probe(sys::Gate& gate, bool json, std::string_view directory = {});

// Pure.
std::string place_json(const Place& place);
void write_place(Page& page, const Place& place);

// Pieces of the text: "Linux 6.1.0 x86_64", "glibc 2.36", a line for each means of a purpose.
void write_platform(Page& page, const Place& place);
void write_c_library(Page& page, const CLibrary& library);
void write_trials(Page& page, const Place& place, Purpose purpose);

}  // namespace quietus
