// What the verbs have in common, made once by main.
#pragma once

#include <memory>
#include <string>

#include "cli/command_line.hpp"
#include "cli/ledger.hpp"
#include "cli/settings.hpp"
#include "quietus/bootstrap.hpp"
#include "quietus/payload.hpp"
#include "quietus/transport.hpp"

namespace quietus::cli {

struct Services {
  Settings settings;
  Ledger ledger;
  std::string payload;  // its path on this machine
  std::shared_ptr<PayloadSource> source;
  BootstrapOptions bootstrap;
  std::vector<std::string> manifest_folders;  // where manifests are looked for by name
};

inline TransportOptions transport_options(const Services& services, std::string token) {
  return {.programs = services.settings.programs,
          .create_arguments = services.settings.create_options,
          .token = std::move(token)};
}

}  // namespace quietus::cli
