// The C libraries of the sandbox, which are not ours: what a dynamically linked program would find
// here. Known by their loaders, and by what stands in them.
#pragma once

#include <array>
#include <string_view>

#include "kernel/calls.hpp"

namespace quietus {

struct CLibrary {
  const char* name = nullptr;  // glibc, musl; unknown: a loader that is not recognised; null: none
  char version[32] = "";       // empty: not to be found out
  const char* loader = nullptr;
};

// In the order of precedence: the one that /bin/sh asks for comes first. No first one: only
// static programs run.
using CLibraries = std::array<CLibrary, 2>;
void find_c_libraries(sys::Gate& gate, CLibraries& found);

// From the bytes of a loader or library; empty where nothing, or more than one thing, is said.
std::string_view glibc_version(std::string_view bytes);
std::string_view musl_version(std::string_view bytes);

}  // namespace quietus
