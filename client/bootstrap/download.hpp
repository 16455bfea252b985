// One file over HTTP(S), or from a file: URL, into a descriptor; by libcurl. Blocks.
#pragma once

#include <cstdint>
#include <string>

#include "quietus/bootstrap.hpp"

namespace quietus {

// Appends to what is there already (resumed with a range request), through as many attempts as it
// takes: a 5xx, 408 or 429 answer and a broken transfer are tried again after a pause, any other
// answer is an error at once. Returns the bytes that came.
Expected<std::uint64_t> download(const std::string& url, int fd, const FetchOptions& options);

// MIRROR/HOST/PATH instead of https://HOST/PATH. The URL itself where there is no mirror, or for a
// file: URL. Pure.
std::string mirrored(const std::string& url, const std::string& mirror);

// Without a password that may stand in it: for messages and records. Pure.
std::string shown_url(const std::string& url);

}  // namespace quietus
