#include "program/directory_trial.hpp"

#include <cstddef>

#include <elf.h>
#include <fcntl.h>

#include "program/bounded.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kPrivateMode = 0700;
constexpr const char* kProgramName = "program";
constexpr const char* kEventName = "event";
constexpr int kErrnoBase = 64;  // added to make an exit code that the program does not have

// The smallest program there is: it exits with this code. A copy of ourselves would need /proc and
// more space than the directory may have.
constexpr unsigned char kProgramExit = 42;
struct SmallestProgram {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  unsigned char code[12];
};
constexpr std::uint64_t kLoadedAt = 0x400000;
constexpr SmallestProgram kProgram = {
    {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
#if defined(__x86_64__)
        .e_machine = EM_X86_64,
#elif defined(__aarch64__)
        .e_machine = EM_AARCH64,
#endif
        .e_version = EV_CURRENT,
        .e_entry = kLoadedAt + offsetof(SmallestProgram, code),
        .e_phoff = offsetof(SmallestProgram, segment),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
    },
    {
        .p_type = PT_LOAD,
        .p_flags = PF_R | PF_X,
        .p_vaddr = kLoadedAt,
        .p_filesz = sizeof(SmallestProgram),
        .p_memsz = sizeof(SmallestProgram),
        .p_align = 0x10000,
    },
// exit(42)
#if defined(__x86_64__)
    {0xb8, 0x3c, 0, 0, 0, 0xbf, kProgramExit, 0, 0, 0, 0x0f, 0x05},
#elif defined(__aarch64__)
    {0xa8, 0x0b, 0x80, 0xd2, 0x40, 0x05, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4},
#endif
};

void note(Trial& trial, const sys::Result<sys::Unit>& done) {
  trial.works = done.has_value();
  if (!done) trial.failed(done.error());
}

sys::Result<sys::Unit> write_program(sys::Gate& gate) {
  const auto file = sys::open(gate, kProgramName, O_WRONLY | O_CREAT | O_EXCL, kPrivateMode);
  if (!file) return tl::unexpected(file.error());
  return sys::write_all(gate, file->get(),
                        {reinterpret_cast<const char*>(&kProgram), sizeof kProgram});
}

sys::Result<sys::Unit> run_program(sys::Gate& gate) {
  const auto forked = sys::fork(gate);
  if (!forked) return tl::unexpected(forked.error());
  if (forked->pid == 0) {
    const char* const argv[] = {kProgramName, nullptr};
    const sys::Error error = sys::execute(gate, kProgramName, argv, argv + 1);
    sys::exit_now(gate, kErrnoBase + error.code);
  }
  const auto ended = await_end(gate, forked->pid, kEffect);
  if (!ended) {
    (void)end_child(gate, forked->pid);
    return tl::unexpected(ended.error());
  }
  if (ended->kind != sys::Waited::Kind::exited) return tl::unexpected(sys::Error{0, kNoEffect});
  if (ended->value == kProgramExit) return sys::Unit{};
  return tl::unexpected(sys::Error{ended->value - kErrnoBase, "execve"});
}

// Whether making a file tells.
sys::Result<sys::Unit> watch(sys::Gate& gate) {
  const auto events = sys::inotify(gate);
  if (!events) return tl::unexpected(events.error());
  const auto watched = sys::watch_directory(gate, events->get(), ".");
  if (!watched) return tl::unexpected(watched.error());
  const auto made = sys::make_directory(gate, kEventName, kPrivateMode);
  if (!made) return made;
  (void)sys::remove_directory(gate, kEventName);
  pollfd wait{.fd = events->get(), .events = POLLIN, .revents = 0};
  const auto ready = sys::poll(gate, {&wait, 1}, kEffect);
  if (!ready) return tl::unexpected(ready.error());
  if (*ready != 1) return tl::unexpected(sys::Error{0, kNoEffect});
  return sys::Unit{};
}

sys::Result<sys::Unit> lock(sys::Gate& gate) {
  const auto directory = sys::open(gate, ".", O_RDONLY | O_DIRECTORY);
  if (!directory) return tl::unexpected(directory.error());
  return sys::try_lock(gate, directory->get(), sys::Lock::exclusive);
}

sys::Result<sys::Unit> try_there(sys::Gate& gate, Directory& directory) {
  if (const auto moved = sys::change_directory(gate, directory.path); !moved) return moved;
  const auto space = sys::free_space(gate, ".");
  if (space) directory.free_bytes = static_cast<std::int64_t>(*space);
  const std::string ours = ".quietus-probe-" + own_name(gate);
  if (const auto made = sys::make_directory(gate, ours.c_str(), kPrivateMode); !made) return made;
  auto written = sys::change_directory(gate, ours.c_str());
  if (written) {
    note(directory.uses[kLock], lock(gate));
    note(directory.uses[kNotify], watch(gate));
    written = write_program(gate);
    if (written) note(directory.uses[kExecute], run_program(gate));
    (void)sys::unlink_at(gate, AT_FDCWD, kProgramName);
    (void)sys::change_directory(gate, "..");
  }
  (void)sys::remove_directory(gate, ours.c_str());
  return written;
}

}  // namespace

void try_directory(sys::Gate& gate, Directory& directory) {
  for (Trial& use : directory.uses) use.failed("nothing can be made there");
  Trial& write = directory.uses[kWrite];
  write.failed("the trial came to no end");
  const auto ended = in_child(gate, [&] {
    note(write, try_there(gate, directory));
    return true;
  });
  if (!ended) note(write, ended);
}

}  // namespace quietus
