// What the transports have in common.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quietus/transport.hpp"

namespace quietus::transports {

using Words = std::vector<std::string>;

// The words that stand for a tool: its own name, or what the options say.
Words program(const TransportOptions& options, std::string_view tool);

Words operator+(Words left, const Words& right);

// "NAME=VALUE" for each.
std::string assignment(const EnvironmentEntry& entry);

// For transports that can set neither directory nor environment: the command behind env(1), and
// behind a shell that changes the directory. Without both, the argv as it is: that needs nothing.
Words with_environment(const InsideCommand& command);

// "the TRANSPORT transport cannot ...".
tl::unexpected<Error> cannot_change_user(std::string_view transport, std::string_view instead);

// The first line of what a client wrote to stderr, for messages.
std::string first_line(std::string_view text);
// Of a client that also tells what it does: the last line that begins with "error", else the last.
std::string error_line(std::string_view text);

// Each in its own file.
std::unique_ptr<Transport> make_local();
std::unique_ptr<Transport> make_container(std::string_view tool, std::string name,
                                          const TransportOptions& options);
std::unique_ptr<Transport> make_container_of_image(std::string_view tool, std::string image,
                                                   const TransportOptions& options);
Expected<std::unique_ptr<Transport>> make_ssh(std::string_view host,
                                              const TransportOptions& options);
std::unique_ptr<Transport> make_bwrap(std::string root, const TransportOptions& options);
Expected<std::unique_ptr<Transport>> make_slurm(std::string_view job,
                                                const TransportOptions& options);
std::unique_ptr<Transport> make_slurm_new(std::string_view arguments,
                                          const TransportOptions& options);
Expected<std::unique_ptr<Transport>> make_kube(std::string_view place,
                                               const TransportOptions& options);
std::unique_ptr<Transport> make_apptainer(std::string_view place, const TransportOptions& options);
Expected<std::unique_ptr<Transport>> make_template(const std::string& file);
// Of its text. Pure.
Expected<std::unique_ptr<Transport>> parse_template(std::string_view toml, const std::string& file);

}  // namespace quietus::transports
