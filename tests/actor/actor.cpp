// The interpreter, and the verbs that concern the script itself.
#include "actor.hpp"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actor {

Start start;

namespace {

constexpr int64_t kDefaultBound = 60'000;

void verb_bound(const Call& call) { set_bound(number(call.arg[0])); }
void verb_beats(const Call& call) { map_beats(call.arg[0]); }
void verb_touch(const Call& call) { beat(static_cast<int>(number(call.arg[0]))); }
void verb_sleep(const Call& call) { sleep_ms(number(call.arg[0])); }
void verb_record(const Call& call) { record(call.arg[0]); }
void verb_write(const Call& call) { write_file(call.arg[0], call.arg[1]); }
void verb_append(const Call& call) { append_file(call.arg[0], call.arg[1]); }

void verb_unlink(const Call& call) {
  if (unlink(call.arg[0]) != 0) fail(call.arg[0]);
}

void verb_beat(const Call& call) {
  const int slot = static_cast<int>(number(call.arg[0]));
  const int64_t pause = call.args > 1 ? number(call.arg[1]) : 5;
  while (!bound_passed()) {
    beat(slot);
    sleep_ms(pause);
  }
}

void verb_await(const Call& call) {
  const int slot = static_cast<int>(number(call.arg[0]));
  const uint64_t wanted = call.args > 1 ? static_cast<uint64_t>(number(call.arg[1])) : 1;
  while (beats(slot) < wanted && !bound_passed()) sleep_ms(1);
}

void verb_await_file(const Call& call) {
  while (access(call.arg[0], F_OK) != 0 && !bound_passed()) sleep_ms(1);
}

void verb_repeat(const Call& call) {
  for (long i = number(call.arg[0]); i > 0; --i) run(call.block);
}

void verb_print(const Call& call) {
  long left = number(call.arg[0]);
  const long chunk = call.args > 1 ? number(call.arg[1]) : 4096;
  const int fd = call.args > 2 ? static_cast<int>(number(call.arg[2])) : 1;
  // Every byte tells its own place modulo 26, so that a reader can check what it got.
  static char buffer[1 << 17];
  if (chunk <= 0 || chunk > static_cast<long>(sizeof buffer) - 26) {
    errno = EINVAL;
    fail("print");
  }
  for (size_t i = 0; i < sizeof buffer; ++i) buffer[i] = static_cast<char>('a' + i % 26);
  long place = 0;
  while (left > 0) {
    const long size = left < chunk ? left : chunk;
    const ssize_t done = write(fd, buffer + place % 26, static_cast<size_t>(size));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    place += done;
    left -= done;
  }
}

void verb_say(const Call& call) {
  const int fd = call.args > 1 ? static_cast<int>(number(call.arg[1])) : 1;
  (void)!write(fd, call.arg[0], strlen(call.arg[0]));
  (void)!write(fd, "\n", 1);
}

void verb_close(const Call& call) { close(static_cast<int>(number(call.arg[0]))); }
void verb_exit(const Call& call) { _exit(static_cast<int>(number(call.arg[0]))); }
void verb_hold(const Call&) {
  while (!bound_passed()) pause();
}

void verb_exec(const Call& call) {
  // The script may go on behind a bracket: only its own words are the command.
  static char* command[1024];
  int count = 0;
  for (; count < call.rest.count && count < 1023; ++count) command[count] = call.rest.words[count];
  if (count == 0) {
    errno = EINVAL;
    fail("exec");
  }
  execvp(command[0], command);
  fail(command[0]);
}

const Verb kScriptVerbs[] = {
    {"bound", "bound:MS", "from now on end after this time (60000 unless given)", verb_bound},
    {"beats", "beats:FILE", "map the shared page of counters", verb_beats},
    {"beat", "beat:SLOT[:MS]", "count up in SLOT every 5 ms, for ever", verb_beat},
    {"touch", "touch:SLOT", "count up in SLOT once", verb_touch},
    {"await", "await:SLOT[:N]", "wait until SLOT counts at least N (1)", verb_await},
    {"await-file", "await-file:PATH", "wait until PATH exists", verb_await_file},
    {"sleep", "sleep:MS", "sleep, whatever signals arrive", verb_sleep},
    {"hold", "hold", "wait for ever", verb_hold},
    {"repeat", "repeat:N [ ... ]", "run the block N times in this process", verb_repeat},
    {"exec", "exec CMD...", "become CMD", verb_exec},
    {"exit", "exit:N", "exit with N", verb_exit},
    {"print", "print:BYTES[:CHUNK[:FD]]", "write abc...z over and over", verb_print},
    {"say", "say:TEXT[:FD]", "write a line", verb_say},
    {"close", "close:FD", "close a descriptor", verb_close},
    {"write", "write:FILE:TEXT", "write TEXT to FILE", verb_write},
    {"append", "append:FILE:TEXT", "append TEXT to FILE", verb_append},
    {"unlink", "unlink:FILE", "remove FILE", verb_unlink},
    {"record", "record:FILE", "write what this process is and inherited, as JSON", verb_record},
    {nullptr, nullptr, nullptr, nullptr},
};

constexpr const Verb* kTables[] = {kScriptVerbs, kProcessVerbs, kSignalVerbs, kStormVerbs};

const Verb* find(const char* name) {
  for (const Verb* table : kTables) {
    for (const Verb* verb = table; verb->name != nullptr; ++verb) {
      if (strcmp(verb->name, name) == 0) return verb;
    }
  }
  return nullptr;
}

void help() {
  printf(
      "usage: actor VERB[:ARGUMENT...]...\n\n"
      "Runs the verbs in order and exits 0 at the end. A verb that makes a process takes its\n"
      "script in brackets: actor 'daemon' '[' ignore:TERM beat:1 ']' exit:3. No process of it\n"
      "outlives the bound.\n\n");
  for (const Verb* table : kTables) {
    for (const Verb* verb = table; verb->name != nullptr; ++verb) {
      printf("  %-28s %s\n", verb->usage, verb->help);
    }
  }
}

// The number of words of a block, both brackets included; 0 where there is none.
int block_length(Script script) {
  if (script.count == 0 || strcmp(script.words[0], "[") != 0) return 0;
  int depth = 0;
  for (int i = 0; i < script.count; ++i) {
    if (strcmp(script.words[i], "[") == 0) ++depth;
    if (strcmp(script.words[i], "]") == 0 && --depth == 0) return i + 1;
  }
  errno = EINVAL;
  fail("a bracket is never closed");
}

}  // namespace

void run(Script script) {
  int at = 0;
  while (at < script.count) {
    // Words are copied: the command line itself is what `record` hashes.
    char word[4096];
    snprintf(word, sizeof word, "%s", script.words[at]);
    ++at;
    Call call;
    char* rest = word;
    const char* name = strsep(&rest, ":");
    for (int i = 0; i < kMaxArguments; ++i) call.arg[i] = "";
    while (rest != nullptr && call.args < kMaxArguments - 1) {
      call.arg[call.args++] = strsep(&rest, ":");
    }
    if (rest != nullptr) call.arg[call.args++] = rest;
    const Verb* verb = find(name);
    if (verb == nullptr) {
      errno = EINVAL;
      fail(name);
    }
    call.rest = {script.words + at, script.count - at};
    const int length = block_length(call.rest);
    if (length > 0) {
      call.block = {script.words + at + 1, length - 2};
      at += length;
      call.rest = {script.words + at, script.count - at};
    }
    verb->run(call);
  }
}

}  // namespace actor

int main(int argc, char** argv) {
  using namespace actor;
  start.argv = argv;
  sigprocmask(SIG_SETMASK, nullptr, &start.blocked);
  sigemptyset(&start.ignored);
  for (int number = 1; number <= 64; ++number) {
    // The kernel's own view: libc refuses to tell about the signals that it keeps for itself.
    struct {
      void (*handler)(int);
      unsigned long flags;
      void (*restorer)();
      unsigned long mask;
    } kernel_action = {};
    if (syscall(SYS_rt_sigaction, number, nullptr, &kernel_action, sizeof(unsigned long)) == 0 &&
        kernel_action.handler == SIG_IGN) {
      sigaddset(&start.ignored, number);
    }
  }
  set_bound(kDefaultBound);
  if (argc == 1 || strcmp(argv[1], "--help") == 0) {
    help();
    return argc == 1 ? 2 : 0;
  }
  run({argv + 1, argc - 1});
  return 0;
}
