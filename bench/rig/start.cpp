#include "start.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bench {

void die(const std::string& what) {
  std::fprintf(stderr, "runner: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(2);
}

std::string numbered(const std::string& text, long number) {
  static const std::string mark = "@I@";
  std::string result = text;
  for (std::size_t at = 0; (at = result.find(mark, at)) != std::string::npos;) {
    result.replace(at, mark.size(), std::to_string(number));
  }
  return result;
}

Command::Command(const Options& options, long number) {
  for (const char* word : options.command) words_.push_back(numbered(word, number));
  for (std::string& word : words_) pointers_.push_back(word.data());
  pointers_.push_back(nullptr);
}

pid_t start(const Options& options, const Command& command) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, options.errors.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0666);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  char* const* argv = command.argv();
  const int error = posix_spawnp(&pid, argv[0], &files, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    errno = error;
    die(argv[0]);
  }
  return pid;
}

Slots* map_page(const std::string& path) {
  int flags = MAP_SHARED | MAP_ANONYMOUS;
  int file = -1;
  if (!path.empty()) {
    flags = MAP_SHARED;
    file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || ftruncate(file, kPage) != 0) die(path);
  }
  void* memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) die("mmap");
  if (file >= 0) close(file);
  return static_cast<Slots*>(memory);
}

void unmap_page(Slots* page, const std::string& path) {
  munmap(page, kPage);
  if (!path.empty()) unlink(path.c_str());
}

}  // namespace bench
