// The command lines of the in-sandbox half, as a session needs them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/time.hpp"
#include "quietus/session.hpp"

namespace quietus {

// Seconds, with as many digits as it takes: 1.5, 0.000000001.
std::string seconds_text(Span span);

bool uses_lease(const SessionOptions& options, const Traits& traits);

std::vector<std::string> launch_words(std::string_view supervisor, const SessionOptions& options,
                                      const Traits& traits, const SessionCommand& command,
                                      Span timeout, Span cleanup);
// quietus VERB --session DIR ...
std::vector<std::string> verb_words(std::string_view supervisor, std::string_view verb,
                                    std::string_view directory,
                                    const std::vector<std::string>& more = {});

}  // namespace quietus
