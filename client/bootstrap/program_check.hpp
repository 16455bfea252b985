// Whether a program is what it should be: by what it says of itself.
#pragma once

#include <asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quietus/bootstrap.hpp"

namespace quietus {

// For LocalProgram::accepts: the output begins as the manifest expects.
std::function<std::string(std::string_view)> expected_output(const ToolManifest& manifest);

// Of the run of `program.check`: the error (sandbox) says what is wrong. Pure.
Expected<void> judge(const LocalProgram& program, const std::string& path, std::string_view out,
                     std::string_view err, std::optional<int> code);

// This machine's own tool, if it is known to run there and is of the manifest's version. Why it is
// not used is added to the notes.
asio::awaitable<std::optional<LocalProgram>> own_tool(std::string path, ToolManifest manifest,
                                                      Platform platform,
                                                      std::vector<std::string>& notes);

}  // namespace quietus
