#include "program/probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace quietus {
namespace {

using testing::HasSubstr;
using testing::Not;

Trial works() {
  Trial trial;
  trial.works = true;
  return trial;
}

// A place where everything works.
Place good_place() {
  Place place;
  std::strcpy(place.platform.sysname, "Linux");
  std::strcpy(place.platform.release, "6.12.1");
  std::strcpy(place.platform.machine, "x86_64");
  place.c_libraries[0].name = "glibc";
  std::strcpy(place.c_libraries[0].version, "2.36");
  place.c_libraries[0].loader = "/lib64/ld.so";
  place.page_size = 4096;
  place.uid = 1000;
  std::strcpy(place.directories[0].path, "/tmp");
  place.directories[0].uses.fill(works());
  place.directories[0].free_bytes = 1536;
  place.means.fill(works());
  return place;
}

std::string place_text(const Place& place) {
  Page page;
  write_place(page, place);
  return page.text();
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

TEST(ProbeText, SaysWhatThePlaceIs) {
  const std::string text = place_text(good_place());
  EXPECT_THAT(text, HasSubstr("kernel                  Linux 6.12.1 x86_64\n"));
  EXPECT_THAT(text, HasSubstr("page size               4096\n"));
  EXPECT_THAT(text, HasSubstr("C library               glibc 2.36, /lib64/ld.so\n"));
  EXPECT_THAT(text, HasSubstr("user                    1000\n"));
  EXPECT_THAT(text, HasSubstr("  /tmp\n    runs programs, locks, inotify, 1.5 KiB free\n"));
  EXPECT_THAT(text, HasSubstr("killing\n  shield (Landlock)     yes\n"));
}

TEST(ProbeText, OfNothingKnownSaysSo) {
  const std::string text = place_text({});
  EXPECT_THAT(text, HasSubstr("kernel                  unknown unknown unknown\n"));
  EXPECT_THAT(text, HasSubstr("page size               unknown\n"));
  EXPECT_THAT(text, HasSubstr("C library               no C library\n"));
  EXPECT_THAT(text, HasSubstr("user                    unknown\n"));
  EXPECT_THAT(text, HasSubstr("directories\n\nkilling\n"));
  EXPECT_THAT(text, Not(HasSubstr("yes")));
}

TEST(ProbeText, SaysWhyNot) {
  Place place = good_place();
  place.means[kShield] = Trial{};
  place.means[kShield].failed({ENOSYS, "landlock_create_ruleset"});
  place.means[kPidfd] = Trial{};
  place.means[kPidfd].failed("it has no effect");
  auto& uses = place.directories[0].uses;
  uses[kExecute] = Trial{};
  uses[kExecute].failed({EACCES, "execve"});
  uses[kLock] = Trial{};
  uses[kLock].failed({EOPNOTSUPP, "flock"});
  const std::string text = place_text(place);
  EXPECT_THAT(text, HasSubstr("  shield (Landlock)     no   landlock_create_ruleset: "
                              "Function not implemented\n"));
  EXPECT_THAT(text, HasSubstr("  pidfd                 no   it has no effect\n"));
  EXPECT_THAT(text, HasSubstr("    runs no programs: execve: Permission denied, no locks: flock: "
                              "Operation not\n    supported, inotify, 1.5 KiB free\n"));
}

TEST(ProbeText, OfADirectoryThatCannotBeWrittenSaysOnlyThat) {
  Place place = good_place();
  place.directories[0].uses = {};
  place.directories[0].free_bytes = -1;
  place.directories[0].uses[kWrite].failed({ENOENT, "chdir"});
  EXPECT_THAT(place_text(place),
              HasSubstr("  /tmp\n    cannot be written: chdir: No such file or directory\n\n"));
}

TEST(ProbeText, SaysWhatIsNeeded) {
  Place place = good_place();
  place.means[kShield].needs = "no_new_privs";
  place.means[kIsolate].needs = "user-namespace";
  place.means[kIsolate].note = "the outer /proc stays in sight";
  const std::string text = place_text(place);
  EXPECT_THAT(text, HasSubstr("  shield (Landlock)     yes  with no_new_privs\n"));
  EXPECT_THAT(text, HasSubstr("  isolate (namespace)   yes  with user-namespace  the outer /proc "
                              "stays in\n                             sight\n"));
}

TEST(ProbeText, StaysBelow80Columns) {
  Place place = good_place();
  std::memset(place.platform.release, 'r', sizeof place.platform.release - 1);
  std::memset(place.directories[0].path, 'p', 4000);
  std::strcpy(place.directories[1].path, "/\x1b[31m");
  place.means[kIsolate].needs = "user-namespace";
  place.means[kIsolate].note = "the outer /proc stays in sight";
  const std::string text = place_text(place);
  EXPECT_LT(longest_line(text), 80u) << text;
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ProbeJson, IsOneObjectWithASchema) {
  const std::string json = place_json(good_place());
  EXPECT_THAT(json, testing::StartsWith(R"({"schema": "quietus-probe", "schema_version": 1, )"
                                        R"("quietus_version": ")"));
  EXPECT_THAT(json, testing::EndsWith("}}}\n"));
  EXPECT_THAT(json,
              HasSubstr(R"("kernel": "Linux", "kernel_release": "6.12.1", "machine": "x86_64", )"
                        R"("page_size": 4096, "uid": 1000, )"
                        R"("c_library": "glibc", "c_library_version": "2.36", )"
                        R"("c_libraries": [{"name": "glibc", "version": "2.36", )"
                        R"("loader": "/lib64/ld.so"}], )"
                        R"("directories": [{"path": "/tmp", "free_bytes": 1536, )"
                        R"("write": {"works": true, "needs": null, "note": null, )"
                        R"("failed": null, "errno": null}, "execute": {)"));
  EXPECT_THAT(json, HasSubstr(R"("killing": {"shield": {"works": true, )"));
}

TEST(ProbeJson, OfNothingKnownIsNullAndNone) {
  const std::string json = place_json({});
  EXPECT_THAT(json, HasSubstr(R"("kernel": null, "kernel_release": null, "machine": null, )"
                              R"("page_size": null, "uid": null, )"
                              R"("c_library": "none", "c_library_version": null, )"
                              R"("c_libraries": [], "directories": [], "killing": {)"));
}

TEST(ProbeJson, ALibraryWithoutAVersionIsStillNamed) {
  Place place = good_place();
  place.c_libraries[0].version[0] = 0;
  place.c_libraries[1].name = "unknown";
  place.c_libraries[1].loader = "/lib/ld-musl.so.1";
  const std::string json = place_json(place);
  EXPECT_THAT(json, HasSubstr(R"("c_library": "glibc", "c_library_version": null, )"
                              R"("c_libraries": [{"name": "glibc", "version": null, )"
                              R"("loader": "/lib64/ld.so"}, {"name": "unknown", "version": null, )"
                              R"("loader": "/lib/ld-musl.so.1"}])"));
}

TEST(ProbeJson, ReasonsBelongToWhatFailedAndNeedsToWhatWorks) {
  Place place = good_place();
  place.means[kShield].needs = "no_new_privs";
  place.means[kShield].step = "an earlier thought";
  place.means[kIsolate] = Trial{};
  place.means[kIsolate].needs = "user-namespace";
  place.means[kIsolate].failed({EPERM, "fork"});
  place.means[kArgv] = Trial{};
  place.means[kArgv].failed("it has no effect");
  const std::string json = place_json(place);
  EXPECT_THAT(json, HasSubstr(R"("shield": {"works": true, "needs": "no_new_privs", )"
                              R"("note": null, "failed": null, "errno": null})"));
  EXPECT_THAT(json, HasSubstr(R"("isolate": {"works": false, "needs": null, "note": null, )"
                              R"("failed": "fork", "errno": 1})"));
  EXPECT_THAT(json, HasSubstr(R"("argv": {"works": false, "needs": null, "note": null, )"
                              R"("failed": "it has no effect", "errno": null})"));
}

}  // namespace
}  // namespace quietus
