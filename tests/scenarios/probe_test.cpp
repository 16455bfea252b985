// quietus probe: what it says is compared with what the test finds out by other ways, and a means
// that is taken away must be missed.
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>

#include "bare_root.hpp"
#include "harness/scenario.hpp"

namespace {

using namespace harness;
using namespace std::string_view_literals;

// Of every means and use: where it stands in the answer.
const Words kMeans = {"/killing/shield",       "/killing/isolate",       "/killing/cgroup",
                      "/killing/subreaper",    "/killing/waitid",        "/killing/proc_children",
                      "/killing/proc_scan",    "/waiting/pidfd",         "/waiting/signalfd",
                      "/waiting/inotify",      "/hiding/dumpable",       "/hiding/argv",
                      "/directories/0/write",  "/directories/0/execute", "/directories/0/lock",
                      "/directories/0/inotify"};

class Probe : public Scenario {
 protected:
  Launch here() const {
    Launch launch = plain({"probe", "--json"});
    launch.directory = path("");
    return launch;
  }
  Json answer(const Launch& launch) {
    const Ended ended = end_of(launch, 60);
    EXPECT_EQ(ended.status, 0) << ended.text();
    EXPECT_EQ(ended.err, "");
    return Json::parse(ended.out);
  }
  static bool works(const Json& answer, const std::string& what) {
    return answer.boolean(what + "/works");
  }
  static int directory(const Json& answer, const std::string& path) {
    return answer.find("/directories", "path", path);
  }
  static std::string use(int directory, const std::string& name) {
    return "/directories/" + std::to_string(directory) + "/" + name;
  }
  std::string scratch() const {
    const std::string with_slash = path("");
    return with_slash.substr(0, with_slash.size() - 1);
  }
};

TEST_F(Probe, names_the_platform) {
  utsname names;
  ASSERT_EQ(uname(&names), 0);
  const Json json = answer(here());
  EXPECT_EQ(json.text("/schema"), "quietus-probe");
  EXPECT_EQ(json.integer("/schema_version"), 1);
  EXPECT_EQ(json.text("/kernel"), names.sysname);
  EXPECT_EQ(json.text("/kernel_release"), names.release);
  EXPECT_EQ(json.text("/machine"), names.machine);
  EXPECT_EQ(json.integer("/page_size"), sysconf(_SC_PAGESIZE));
  EXPECT_EQ(json.integer("/uid"), geteuid());
}

TEST_F(Probe, names_the_c_library_of_the_place_and_not_its_own) {
  NEEDS(exists("/lib64/ld-linux-x86-64.so.2") || exists("/lib/ld-linux-aarch64.so.1"), "glibc");
  const Json json = answer(here());
  const int glibc = json.find("/c_libraries", "name", "glibc");
  ASSERT_GE(glibc, 0) << json.dump();
  const std::string place = "/c_libraries/" + std::to_string(glibc);
  // This test was linked where it runs.
  EXPECT_EQ(json.text(place + "/version"), gnu_get_libc_version());
  EXPECT_TRUE(exists(json.text(place + "/loader")));
}

TEST_F(Probe, says_that_what_this_host_has_works) {
  const Json json = answer(here());
  EXPECT_EQ(works(json, "/killing/shield"), has_signal_scope());
  for (const char* what :
       {"/killing/waitid", "/killing/proc_scan", "/waiting/signalfd", "/hiding/argv"}) {
    EXPECT_TRUE(works(json, what)) << what << json.dump();
  }
  EXPECT_EQ(works(json, "/killing/subreaper"), !wrapper_denies("prctl:set_child_subreaper"));
  EXPECT_EQ(works(json, "/waiting/pidfd"),
            !wrapper_denies("pidfd_open") && !wrapper_denies("pidfd_send_signal"));
  EXPECT_EQ(works(json, "/waiting/inotify"), !wrapper_denies("inotify_init1"));
  EXPECT_EQ(works(json, "/hiding/dumpable"), !wrapper_denies("prctl:set_dumpable"));
}

TEST_F(Probe, says_what_a_user_must_give_up) {
  NEEDS_ROOT();
  NEEDS(has_signal_scope(), "Landlock signal scope");
  NEEDS(wrapper().empty(), "privileges below a wrapper");
  EXPECT_TRUE(answer(here()).is_null("/killing/shield/needs"));
  const Json json = answer(as_user(here(), lonely_uid()));
  EXPECT_TRUE(works(json, "/killing/shield"));
  EXPECT_EQ(json.text("/killing/shield/needs"), "no_new_privs");
  EXPECT_EQ(works(json, "/killing/isolate"), has_user_namespaces());
  NEEDS(has_user_namespaces(), "user namespaces");
  EXPECT_EQ(json.text("/killing/isolate/needs"), "user-namespace");
}

TEST_F(Probe, knows_what_a_directory_allows) {
  const Json json = answer(here());
  const int at = directory(json, scratch());
  ASSERT_GE(at, 0) << json.dump();
  for (const char* name : {"write", "execute", "lock"}) {
    EXPECT_TRUE(works(json, use(at, name))) << name << json.dump();
  }
  EXPECT_GT(json.integer(use(at, "free_bytes")), 0);
  EXPECT_GE(directory(json, "/tmp"), 0);
}

TEST_F(Probe, leaves_no_file_behind) {
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(""))) {
      // What the harness writes for the test itself.
      const std::string name = entry.path().filename();
      if (name.rfind("out-", 0) != 0 && name.rfind("err-", 0) != 0) found.insert(name);
    }
    return found;
  };
  const auto before = names();
  (void)answer(here());
  EXPECT_EQ(names(), before);
}

TEST_F(Probe, tells_people_in_less_than_80_columns) {
  Launch launch = plain({"probe"});
  launch.directory = path("");
  const Ended ended = end_of(launch, 60);
  EXPECT_EQ(ended.status, 0);
  for (const std::string& line : split(ended.out, '\n')) EXPECT_LT(line.size(), 80u) << line;
  for (const char* part : {"kernel  ", "C library  ", "directories\n", "killing\n", "waiting\n",
                           "hiding\n", "  shield "}) {
    EXPECT_TRUE(holds(ended.out, part));
  }
}

TEST_F(Probe, fails_only_where_it_cannot_be_heard) {
  NEEDS(exists("/dev/full"), "/dev/full");
  Launch launch = here();
  launch.out = open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(end_of(launch, 60).status, 125);
  close(launch.out);
}

TEST_F(Probe, works_where_nobody_collects_children) {
  Launch launch = here();
  launch.in_child = ignoring({SIGCHLD});
  EXPECT_TRUE(works(answer(launch), "/killing/waitid"));
}

// --- what is taken away must be missed ---------------------------------------------------------

class ProbeDenied : public Probe {
 protected:
  void SetUp() override { NEEDS(wrapper().empty(), "room for a second wrapper"); }

  // All means that work without, and not with the denial.
  Words missed(const std::string& errno_name, const std::string& calls) {
    const Json with = answer(here());
    Launch launch = here();
    launch.inner = {deny_binary(), "--errno", errno_name, calls, "--"};
    const Json json = answer(launch);
    Words gone;
    for (const std::string& means : kMeans) {
      if (works(with, means) && !works(json, means)) gone.push_back(means);
    }
    last_ = json;
    return gone;
  }
  std::optional<Json> last_;
};

TEST_F(ProbeDenied, a_denied_call_costs_its_means_and_no_other) {
  NEEDS(has_signal_scope(), "Landlock signal scope");
  const struct {
    const char* denied;
    Words missed;
    const char* failed;
  } cases[] = {
      {"landlock_create_ruleset", {"/killing/shield"}, "landlock_create_ruleset"},
      {"landlock_restrict_self", {"/killing/shield"}, "landlock_restrict_self"},
      {"prctl:set_child_subreaper", {"/killing/subreaper"}, "prctl(PR_SET_CHILD_SUBREAPER)"},
      {"prctl:get_child_subreaper", {"/killing/subreaper"}, "prctl(PR_GET_CHILD_SUBREAPER)"},
      {"pidfd_open", {"/waiting/pidfd"}, "pidfd_open"},
      {"pidfd_send_signal", {"/waiting/pidfd"}, "pidfd_send_signal"},
      {"signalfd4", {"/waiting/signalfd"}, "signalfd4"},
      {"prctl:set_dumpable", {"/hiding/dumpable"}, "prctl(PR_SET_DUMPABLE)"},
      {"inotify_init1", {"/waiting/inotify", "/directories/0/inotify"}, "inotify_init1"},
      {"inotify_add_watch", {"/waiting/inotify", "/directories/0/inotify"}, "inotify_add_watch"},
  };
  for (const auto& [denied, expected, failed] : cases) {
    EXPECT_EQ(missed("ENOSYS", denied), expected) << denied;
    EXPECT_EQ(last_->text(expected[0] + "/failed"), failed);
    EXPECT_EQ(last_->integer(expected[0] + "/errno"), ENOSYS);
  }
  EXPECT_EQ(missed("EPERM", "landlock_restrict_self"), Words{"/killing/shield"});
  EXPECT_EQ(last_->integer("/killing/shield/errno"), EPERM);
}

TEST_F(ProbeDenied, a_call_that_only_pretends_is_seen_through) {
  NEEDS(has_signal_scope(), "Landlock signal scope");
  const struct {
    const char* pretended;
    const char* missed;
  } cases[] = {
      {"landlock_restrict_self", "/killing/shield"},
      {"prctl:set_child_subreaper", "/killing/subreaper"},
      {"pidfd_send_signal", "/waiting/pidfd"},
      {"prctl:set_dumpable", "/hiding/dumpable"},
  };
  for (const auto& [pretended, expected] : cases) {
    EXPECT_EQ(missed("0", pretended), Words{expected}) << pretended;
    EXPECT_TRUE(last_->is_null(std::string(expected) + "/errno"));
    EXPECT_TRUE(last_->is_text(std::string(expected) + "/failed"));
  }
}

TEST_F(ProbeDenied, without_children_everything_is_missed_and_nothing_is_left) {
  Launch launch = here();
  launch.inner = {deny_binary(), "--errno", "EPERM", "clone,clone3,fork,vfork", "--"};
  const Json json = answer(launch);
  for (const std::string& means : kMeans) EXPECT_FALSE(works(json, means)) << means;
  EXPECT_EQ(json.text("/killing/shield/failed"), "fork");
}

TEST_F(ProbeDenied, without_poll_it_comes_to_an_end) {
  (void)missed("ENOSYS", "ppoll");
  EXPECT_EQ(last_->text("/waiting/pidfd/failed"), "ppoll");
  EXPECT_TRUE(works(*last_, "/killing/waitid"));
}

// --- other places ------------------------------------------------------------------------------

class ProbePlace : public Probe {
 protected:
  void SetUp() override {
    NEEDS_ROOT();
    NEEDS(wrapper().empty(), "room for a wrapper in a chroot");
    root_.emplace(path("root"));
  }
  Json in_root(unsigned uid = 0) {
    return answer(root_->launch({"/quietus", "probe", "--json"}, uid));
  }
  std::optional<BareRoot> root_;
};

TEST_F(ProbePlace, the_binary_alone_is_enough) {
  for (const unsigned uid : {0u, lonely_uid()}) {
    const Json json = in_root(uid);
    EXPECT_EQ(json.text("/c_library"), "none");
    EXPECT_EQ(json.size("/c_libraries"), 0u);
    EXPECT_EQ(json.text("/kernel"), "Linux");
    EXPECT_EQ(works(json, "/killing/shield"), has_signal_scope());
    EXPECT_TRUE(works(json, "/killing/subreaper"));
    EXPECT_TRUE(works(json, "/killing/waitid"));
    for (const char* what :
         {"/killing/cgroup", "/killing/proc_children", "/killing/proc_scan", "/hiding/argv"}) {
      EXPECT_FALSE(works(json, what)) << what;
      EXPECT_EQ(json.integer(std::string(what) + "/errno"), ENOENT) << what;
    }
    EXPECT_FALSE(works(json, use(directory(json, "/tmp"), "write")));
    const int here = directory(json, "/");
    EXPECT_EQ(works(json, use(here, "write")), uid == 0);
    EXPECT_EQ(works(json, use(here, "execute")), uid == 0);
    EXPECT_EQ(works(json, "/waiting/inotify"), uid == 0);
  }
}

class ProbeLibrary : public ProbePlace {
 protected:
  void SetUp() override {
    ProbePlace::SetUp();
    if (IsSkipped()) return;
    utsname names;
    uname(&names);
    machine_ = names.machine;
    root_->add_directory("/lib");
    root_->add_directory("/lib64");
    root_->add_directory("/bin");
    glibc_ = machine_ == "x86_64" ? "/lib64/ld-linux-x86-64.so.2" : "/lib/ld-linux-aarch64.so.1";
    musl_ = "/lib/ld-musl-" + machine_ + ".so.1";
  }
  void put(const std::string& name, std::string_view content) const {
    write_file(root_->inside(name), content);
  }
  static constexpr std::string_view kOldGlibc = "\0GLIBC_2.2.5\0GLIBC_PRIVATE\0"sv;
  static constexpr std::string_view kMusl = "\0001.2.4\0musl libc (any)\nVersion %s\n"sv;
  std::string machine_;
  std::string glibc_;
  std::string musl_;
};

TEST_F(ProbeLibrary, an_old_glibc_tells_its_version_in_the_library) {
  put(glibc_, kOldGlibc);
  EXPECT_EQ(in_root().text("/c_library"), "glibc");
  EXPECT_TRUE(in_root().is_null("/c_library_version"));
  put("/lib64/libc.so.6", "GNU C Library (GNU libc) stable release version 2.17, by Roland");
  EXPECT_EQ(in_root().text("/c_library_version"), "2.17");
}

TEST_F(ProbeLibrary, musl_is_known_by_its_loader) {
  put(musl_, kMusl);
  const Json json = in_root();
  EXPECT_EQ(json.text("/c_library"), "musl");
  EXPECT_EQ(json.text("/c_library_version"), "1.2.4");
  EXPECT_EQ(json.text("/c_libraries/0/loader"), musl_);
}

TEST_F(ProbeLibrary, of_two_the_one_that_the_shell_asks_for_comes_first) {
  put(glibc_, kOldGlibc);
  put(musl_, kMusl);
  EXPECT_EQ(in_root().text("/c_library"), "glibc");
  put("/bin/sh",
      "\x7f"
      "ELF " +
          musl_);
  const Json json = in_root();
  EXPECT_EQ(json.text("/c_library"), "musl");
  EXPECT_EQ(json.text("/c_library_version"), "1.2.4");
  EXPECT_EQ(json.text("/c_libraries/1/name"), "glibc");
}

TEST_F(ProbeLibrary, a_loader_that_is_not_recognised_is_unknown) {
  put(glibc_, "a compatibility layer that runs /lib/ld-musl.so.1");
  const Json json = in_root();
  EXPECT_EQ(json.text("/c_library"), "unknown");
  EXPECT_TRUE(json.is_null("/c_library_version"));
  EXPECT_EQ(json.text("/c_libraries/0/loader"), glibc_);
}

TEST_F(ProbeLibrary, a_loader_that_cannot_be_read_is_unknown) {
  put(musl_, kMusl);
  std::filesystem::permissions(root_->inside(musl_), std::filesystem::perms(0));
  EXPECT_EQ(in_root(lonely_uid()).text("/c_library"), "unknown");
}

TEST_F(ProbePlace, a_directory_without_execution_is_told_from_one_without_writing) {
  const auto mounted = [&](const std::string& options) {
    Launch launch = here();
    std::filesystem::create_directories(path("mounted"));
    launch.outer = {"unshare",
                    "--mount",
                    "--propagation",
                    "private",
                    "sh",
                    "-ec",
                    "mount -t tmpfs -o " + options + " none " + path("mounted") + "; cd " +
                        path("mounted") + "; exec \"$@\"",
                    "sh"};
    return launch;
  };
  Json json = answer(mounted("noexec,size=1m"));
  int at = directory(json, path("mounted"));
  EXPECT_TRUE(works(json, use(at, "write")));
  EXPECT_TRUE(works(json, use(at, "lock")));
  EXPECT_TRUE(works(json, use(at, "inotify")));
  EXPECT_FALSE(works(json, use(at, "execute")));
  EXPECT_EQ(json.text(use(at, "execute/failed")), "execve");
  EXPECT_EQ(json.integer(use(at, "execute/errno")), EACCES);
  EXPECT_LE(json.integer(use(at, "free_bytes")), 1 << 20);

  json = answer(mounted("ro"));
  at = directory(json, path("mounted"));
  EXPECT_FALSE(works(json, use(at, "write")));
  EXPECT_EQ(json.integer(use(at, "write/errno")), EROFS);
  EXPECT_FALSE(works(json, use(at, "execute")));
}

}  // namespace
