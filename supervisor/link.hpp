// The two pipes between the halves. The guardian sends commands down, the supervisor sends notes
// up; the end of file on either tells that the other half is gone. Messages are small, of fixed
// size, and written whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernel/calls.hpp"

namespace quietus {

struct Command {
  enum class Kind : std::int32_t {
    signal,       // the guardian received it: value
    parent_gone,  // --die-with-parent
  };
  Kind kind = Kind::signal;
  std::int32_t value = 0;
};

struct Note {
  enum class Kind : std::int32_t {
    none,
    shield_holds,  // the signal scope is known to work here
    forked,        // value: the worker's pid
    started,       // the worker's program runs
    ending,        // value: the Cause, as soon as it is known; text: who asked
    recording,     // the receipt's temporary file, before its rename: device, inode, exit code
    done,          // value: exit code; text: what to say on stderr
  };
  Kind kind = Kind::none;
  std::int32_t value = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  char text[488] = {};

  [[nodiscard]] static Note of(Kind kind, int value = 0, std::string_view text = {});
};
static_assert(sizeof(Note) == 512 && std::is_trivially_copyable_v<Note>);

// However many wait: what else has happened must have its turn.
constexpr int kMessagesPerTurn = 64;

template <class Message>
sys::Result<sys::Unit> send(sys::Gate& gate, int fd, const Message& message) {
  return sys::write_all(gate, fd, {reinterpret_cast<const char*>(&message), sizeof message});
}

// No value: the other half is gone. Error EAGAIN: nothing there yet.
template <class Message>
sys::Result<std::optional<Message>> receive(sys::Gate& gate, int fd) {
  Message message;
  const auto got = sys::read(gate, fd, {reinterpret_cast<char*>(&message), sizeof message});
  if (!got) return tl::unexpected(got.error());
  if (*got != sizeof message) return std::optional<Message>{};
  return std::optional<Message>{message};
}

struct Link {
  sys::UniqueFd commands_out;  // the guardian's ends
  sys::UniqueFd notes_in;
  sys::UniqueFd commands_in;  // the supervisor's
  sys::UniqueFd notes_out;
};
sys::Result<Link> make_link(sys::Gate& gate);

}  // namespace quietus
