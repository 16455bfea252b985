// `record`: a process tells what it is and what it inherited, as one JSON object. Bytes above 127
// are written as the code point of the same number, so any bytes give valid JSON and come back.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actor.hpp"

extern char** environ;

namespace actor {

namespace {

class Writer {
 public:
  explicit Writer(FILE* out) : out_(out) {}

  void open(char bracket) {
    separate();
    fputc(bracket, out_);
    first_ = true;
  }
  void close(char bracket) {
    fputc(bracket, out_);
    first_ = false;
  }
  void key(const char* name) {
    text(name, strlen(name));
    fputc(':', out_);
    first_ = true;
  }
  void text(const char* bytes, size_t length) {
    separate();
    fputc('"', out_);
    for (size_t i = 0; i < length; ++i) {
      const unsigned char byte = static_cast<unsigned char>(bytes[i]);
      if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\') {
        fprintf(out_, "\\u%04x", byte);
      } else {
        fputc(byte, out_);
      }
    }
    fputc('"', out_);
  }
  void text(const char* words) { text(words, strlen(words)); }
  void integer(long long value) {
    separate();
    fprintf(out_, "%lld", value);
  }
  void field(const char* name, long long value) {
    key(name);
    integer(value);
  }
  void field(const char* name, const char* value) {
    key(name);
    text(value);
  }

 private:
  void separate() {
    if (!first_) fputc(',', out_);
    first_ = false;
  }
  FILE* out_;
  bool first_ = true;
};

void signals(Writer& json, const char* name, const sigset_t& set) {
  json.key(name);
  json.open('[');
  for (int number = 1; number <= 64; ++number) {
    if (sigismember(&set, number) == 1) json.integer(number);
  }
  json.close(']');
}

// FNV-1a over every word with its closing zero.
uint64_t argv_hash() {
  uint64_t hash = 14695981039346656037u;
  for (char** word = start.argv; *word != nullptr; ++word) {
    for (const char* at = *word;; ++at) {
      hash = (hash ^ static_cast<unsigned char>(*at)) * 1099511628211u;
      if (*at == '\0') break;
    }
  }
  return hash;
}

void descriptors(Writer& json, int own) {
  json.key("fds");
  json.open('{');
  for (int fd = 0; fd < 4096; ++fd) {
    if (fd == own || fcntl(fd, F_GETFD) < 0) continue;
    char path[64];
    char link[4096];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(path, link, sizeof link);
    char name[16];
    snprintf(name, sizeof name, "%d", fd);
    json.key(name);
    json.text(link, length > 0 ? static_cast<size_t>(length) : 0);
  }
  json.close('}');
}

void limits(Writer& json) {
  struct Limit {
    const char* name;
    __rlimit_resource_t what;
  };
  const Limit known[] = {{"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
                         {"fsize", RLIMIT_FSIZE}, {"nofile", RLIMIT_NOFILE},
                         {"nproc", RLIMIT_NPROC}, {"as", RLIMIT_AS},
                         {"stack", RLIMIT_STACK}};
  json.key("limits");
  json.open('{');
  for (const Limit& limit : known) {
    rlimit value = {};
    getrlimit(limit.what, &value);
    json.key(limit.name);
    json.open('[');
    // -1 stands for no limit.
    json.integer(value.rlim_cur == RLIM_INFINITY ? -1 : static_cast<long long>(value.rlim_cur));
    json.integer(value.rlim_max == RLIM_INFINITY ? -1 : static_cast<long long>(value.rlim_max));
    json.close(']');
  }
  json.close('}');
}

long oom_score_adjustment() {
  char text[32] = "";
  const int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  (void)!read(fd, text, sizeof text - 1);
  close(fd);
  return atol(text);
}

}  // namespace

void record(const char* path) {
  char temporary[4096];
  snprintf(temporary, sizeof temporary, "%s.part", path);
  FILE* out = fopen(temporary, "we");
  if (out == nullptr) fail(temporary);
  Writer json(out);
  json.open('{');
  json.field("pid", getpid());
  json.field("ppid", getppid());
  json.field("pgid", getpgrp());
  json.field("sid", getsid(0));
  json.field("uid", getuid());
  json.field("euid", geteuid());
  json.field("gid", getgid());
  json.key("groups");
  json.open('[');
  gid_t groups[256];
  const int count = getgroups(256, groups);
  for (int i = 0; i < count; ++i) json.integer(groups[i]);
  json.close(']');
  signals(json, "blocked", start.blocked);
  signals(json, "ignored", start.ignored);
  const mode_t mask = umask(0);
  umask(mask);
  json.field("umask", mask);
  char directory[4096];
  json.field("cwd", getcwd(directory, sizeof directory) != nullptr ? directory : "");
  json.field("no_new_privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  json.field("subreaper", [] {
    int on = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &on, 0, 0, 0);
    return on;
  }());
  json.field("timer_slack", prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
  json.field("oom_score_adj", oom_score_adjustment());
  char hash[32];
  snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(argv_hash()));
  json.field("argv_hash", hash);
  json.key("env");
  json.open('[');
  for (char** entry = environ; *entry != nullptr; ++entry) json.text(*entry);
  json.close(']');
  limits(json);
  descriptors(json, fileno(out));
  json.close('}');
  if (fclose(out) != 0 || rename(temporary, path) != 0) fail(path);
}

}  // namespace actor
