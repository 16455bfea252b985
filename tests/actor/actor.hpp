// The words that the parts of the actor share. The actor is a script interpreter: every
// command-line word is a verb, executed in order, and a verb that makes a process takes the words
// in brackets after it as that process's script. It uses nothing but libc, allocates nothing, and
// whatever it starts ends by itself: every process carries an alarm for the rest of the bound.
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

namespace actor {

constexpr int kMaxArguments = 5;
constexpr int kSlots = 512;

struct Script {
  char** words = nullptr;
  int count = 0;
};

struct Call {
  const char* arg[kMaxArguments] = {};  // never null: a missing argument is ""
  int args = 0;
  Script block;  // the words in brackets
  Script rest;   // everything behind the verb, for verbs that end the script
};

struct Verb {
  const char* name;
  const char* usage;
  const char* help;
  void (*run)(const Call&);
};

// State at the first instruction of main, before the actor changed anything.
struct Start {
  sigset_t blocked;
  sigset_t ignored;
  char** argv;
};

extern Start start;

// interpreter
void run(Script script);

// support: time, errors, small I/O
int64_t now_ms();
void set_bound(int64_t milliseconds);
bool bound_passed();
pid_t fork_bounded();
[[noreturn]] void fail(const char* what);
void sleep_ms(int64_t milliseconds);
void write_file(const char* path, const char* text);
void append_file(const char* path, const char* text);
long number(const char* text);
int signal_number(const char* name);
void for_each_signal(const char* list, void (*use)(int signal));

// support: the shared page of heartbeats
void map_beats(const char* path);
void beat(int slot);
uint64_t beats(int slot);

// the tables of verbs, each ended by a null name
extern const Verb kProcessVerbs[];
extern const Verb kSignalVerbs[];
extern const Verb kStormVerbs[];

// record.cpp
void record(const char* path);

}  // namespace actor
