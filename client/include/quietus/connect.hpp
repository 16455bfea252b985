// From a name to a sandbox.
#pragma once

#include <asio/awaitable.hpp>
#include <memory>
#include <string>

#include "quietus/sandbox.hpp"
#include "quietus/transport.hpp"

namespace quietus {

// Who may end the sandbox: its owner stops it, a borrower only lets go of it.
enum class Ownership { borrowed, owned };

struct OpenedSandbox {
  std::shared_ptr<Sandbox> sandbox;
  Ownership ownership = Ownership::borrowed;  // owned: we made it
};

// Makes the sandbox where the name asks for that (podman-image:, docker-image:, slurm-new), else
// looks whether it runs. `payload` is find_payload()'s answer: what is made may have it mounted.
// What was made is ended again when this fails or is cancelled.
asio::awaitable<Expected<OpenedSandbox>> open_sandbox(std::string name, std::string payload,
                                                      TransportOptions options = {});

// A sandbox over a transport of one's own. Starts nothing.
std::shared_ptr<Sandbox> sandbox_over(std::unique_ptr<Transport> transport);

}  // namespace quietus
