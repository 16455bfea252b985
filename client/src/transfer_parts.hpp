// What files going in and coming out have in common.
#pragma once

#include <string>
#include <string_view>

#include "client/src/relay.hpp"
#include "client/src/transfer.hpp"

namespace quietus {

inline constexpr unsigned kParentMode = 0777;
inline constexpr unsigned kPrivateMode = 0700;
// Of what a command of ours inside says.
inline constexpr std::size_t kMessageCap = 4096;

struct Transfer::Job {
  std::string local;
  std::string inside;
  TransferOptions options;
  Until deadline;

  [[nodiscard]] std::string parent_umask() const { return options.private_parents ? "077" : ""; }
  [[nodiscard]] unsigned parent_mode() const {
    return options.private_parents ? kPrivateMode : kParentMode;
  }
  [[nodiscard]] std::string uploading() const {
    return "cannot copy '" + local + "' to '" + inside + "'";
  }
  [[nodiscard]] std::string downloading() const {
    return "cannot copy '" + inside + "' to '" + local + "'";
  }
  [[nodiscard]] tl::unexpected<Error> cut(std::string what) const {
    return fail(ErrorKind::transport, std::move(what) + ": the transfer was cut",
                "repeat it; nothing stands at the destination");
  }
};

// Copies an open file, chunk by chunk, so that other sessions get their turn.
asio::awaitable<Expected<std::uint64_t>> copy_bytes(int from, int to, std::string shown,
                                                    std::optional<std::uint64_t> most_bytes,
                                                    Until deadline);
HostCommand copy_tree(const std::string& from, const std::string& to);

// Whoever still pushes must not wait for a reader that has gone.
asio::awaitable<ProcessEnd> read_from(std::shared_ptr<Relay> relay,
                                      asio::awaitable<ProcessEnd> reader);

// Why a command of ours inside did not do its work.
Error refused(const std::string& what, const ProcessEnd& end);
std::string without_trailing_space(std::string_view text);

}  // namespace quietus
