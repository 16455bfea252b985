#include "supervisor/link.hpp"

#include <algorithm>

namespace quietus {

Note Note::of(Kind kind, int value, std::string_view text) {
  Note note;
  note.kind = kind;
  note.value = value;
  std::copy_n(text.data(), std::min(text.size(), sizeof note.text - 1), note.text);
  return note;
}

// Reading must never hold a half up, and neither must a half that does not read: all four ends are
// non-blocking. Notes are few and always fit; a flood of commands may lose some, and loses nothing.
sys::Result<Link> make_link(sys::Gate& gate) {
  auto commands = sys::pipe(gate);
  if (!commands) return tl::unexpected(commands.error());
  auto notes = sys::pipe(gate);
  if (!notes) return tl::unexpected(notes.error());
  Link link{std::move(commands->second), std::move(notes->first), std::move(commands->first),
            std::move(notes->second)};
  for (const int fd : {link.commands_out.get(), link.notes_in.get(), link.commands_in.get(),
                       link.notes_out.get()}) {
    if (const auto set = sys::set_nonblocking(gate, fd); !set) return tl::unexpected(set.error());
  }
  return link;
}

}  // namespace quietus
