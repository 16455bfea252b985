// TOML that a user writes: configuration files and templates of transports. Any bytes are read or
// refused in one line, and what passes find_toml_fault() is parsed by toml++ without a fault of its
// own.
//
// Module: client/src/toml_fault.cpp client/transports/template.cpp
#include <string>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "cli/settings.hpp"
#include "client/transports/common.hpp"
#include "property.hpp"
#include "quietus/toml_fault.hpp"

using fuzz::require;
using namespace quietus;

namespace {

bool is_one_line(std::string_view text) {
  return !text.empty() && text.find('\n') == std::string_view::npos;
}

void check_fault(std::string_view text) {
  if (const auto fault = find_toml_fault(text)) {
    require(fault->line > 0, "a fault has a line");
    return;
  }
  require(toml::parse(text).succeeded(), "what has no fault is TOML");
}

void check_config(std::string_view text) {
  const auto layer = cli::parse_config(text, "c.toml");
  if (!layer) {
    require(layer.error().text.starts_with("c.toml:"), "a refusal tells the line");
    return;
  }
  const auto nothing = [](std::string_view) { return std::optional<std::string>(); };
  const auto settings = cli::checked(cli::resolve({}, nothing, *layer));
  if (!settings) return require(!settings.error().text.empty(), "a refusal has a reason");
  require(settings->parallel >= 1 && settings->output_limit >= 1, "numbers are in range");
}

bool holds(const std::vector<std::string>& words, std::string_view part) {
  for (const std::string& word : words) {
    if (word.find(part) != std::string::npos) return true;
  }
  return false;
}

void check_template(std::string_view text) {
  const auto made = transports::parse_template(text, "t.toml");
  if (!made) return require(is_one_line(made.error().message), "a refusal is one line");
  const Transport& transport = **made;
  const InsideCommand plain{.argv = {"program"}};
  const auto command = transport.exec(plain);
  require(command && holds(command->argv, "program"), "the command is in what is run");
  const InsideCommand full{
      .argv = {"program"}, .cwd = "/w", .environment = {{"A", "1"}}, .user = "u"};
  if (const auto there = transport.exec(full)) {
    require(holds(there->argv, "/w") && holds(there->argv, "A=1") && holds(there->argv, "u"),
            "what is asked for is said");
  }
  for (const auto& copy : {transport.copy_in("/l", "/i"), transport.copy_out("/i", "/l")}) {
    require(!copy || !copy->argv.empty(), "a copy is a command");
  }
  for (const auto& other : {transport.status(), transport.stop(), transport.disconnect()}) {
    require(!other || !other->argv.empty(), "so are the others");
  }
  (void)transport.failure({.code = 255});
  require(transport.read_status({.code = 0}) == SandboxStatus::running, "0 means that it runs");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check_fault(text);
  check_config(text);
  check_template(text);
  return 0;
}
