// Calls that an old kernel lacks or a container's profile denies, each as ENOSYS and as EPERM, and
// then many at once: an ordinary run stays an ordinary run.
#include <signal.h>

#include <filesystem>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class DeniedCalls : public Scenario {
 protected:
  static Launch denying(const std::string& calls, const std::string& error, Launch launch) {
    launch.inner = Words{deny_binary(), "--errno", error, calls, "--"} + launch.inner;
    return launch;
  }

  void expect_ordinary_work_without(const std::string& calls) {
    for (const char* error : {"ENOSYS", "EPERM"}) {
      SCOPED_TRACE(calls + " " + error);
      const Ended plain = end_of(
          denying(calls, error,
                  reported(bare({"--stop-file", path("stop")},
                                actor({"daemon", "[", "beat:1", "]", "await:1", "exit:7"})))));
      EXPECT_EQ(plain.receipt_bytes, exactly(true, 7, std::nullopt, false)) << plain.text();
      EXPECT_TRUE(beats_.still(1));
      clear_records();
      const Ended late =
          end_of(denying(calls, error,
                         bare({"--timeout", "0.4", "--cleanup-timeout", "0.5"},
                              actor({"ignore:TERM", "daemon", "[", "ignore:TERM", "beat:2", "]",
                                     "fork", "[", "beat:3", "]", "beat:4"}))));
      EXPECT_EQ(late.receipt_bytes, exactly(true, -SIGKILL, std::nullopt, true)) << late.text();
      EXPECT_TRUE(beats_.all_still());
      clear_records();
    }
  }
};

TEST_F(DeniedCalls, pidfd) {
  expect_ordinary_work_without("pidfd_open,pidfd_send_signal,pidfd_getfd");
}
TEST_F(DeniedCalls, clone3) { expect_ordinary_work_without("clone3"); }
TEST_F(DeniedCalls, close_range) { expect_ordinary_work_without("close_range"); }
TEST_F(DeniedCalls, inotify) { expect_ordinary_work_without("inotify_init1,inotify_add_watch"); }
TEST_F(DeniedCalls, memfd) { expect_ordinary_work_without("memfd_create"); }
TEST_F(DeniedCalls, landlock) {
  expect_ordinary_work_without("landlock_create_ruleset,landlock_restrict_self");
}
TEST_F(DeniedCalls, our_own_comfort) {
  expect_ordinary_work_without(
      "prctl:set_name,prctl:set_dumpable,prctl:set_timerslack,prctl:set_mm,setpriority");
}
TEST_F(DeniedCalls, timers_and_polling) {
  expect_ordinary_work_without("timerfd_create,epoll_create1,eventfd2,epoll_pwait2");
}
TEST_F(DeniedCalls, everything_newer_than_linux_5_1) {
  expect_ordinary_work_without(
      "pidfd_send_signal,pidfd_open,pidfd_getfd,clone3,close_range,openat2,faccessat2,epoll_pwait2,"
      "io_uring_setup,landlock_create_ruleset,landlock_add_rule,landlock_restrict_self,statx,"
      "renameat2,memfd_create");
}

TEST_F(DeniedCalls, a_stop_file_is_seen_without_inotify_and_pidfd) {
  for (const char* error : {"ENOSYS", "EPERM"}) {
    Running running = start(denying("inotify_init1,pidfd_open,clone3,signalfd4", error,
                                    bare({"--stop-file", path("stop")}, actor({"beat:1"}))));
    const Ended early = [&] {
      if (beats_.alive(1, 3)) {
        write_file(path("stop"), "");
      }
      return running.wait();
    }();
    // signalfd is as old as Linux 2.6.27: without it nothing may start, or everything must work.
    if (early.receipt && early.receipt->return_code) {
      EXPECT_TRUE(receipt_is(early, {.codes = {-SIGTERM}})) << error;
    } else {
      EXPECT_TRUE(receipt_is(early, {.codes = {std::nullopt}, .error = Error::some})) << error;
    }
    std::filesystem::remove(path("stop"));
    clear_records();
  }
}

TEST_F(DeniedCalls, descriptors_are_closed_without_close_range) {
  for (const bool with_proc : {true, false}) {
    if (!with_proc && !is_root()) continue;
    Launch launch = denying("close_range", "EPERM", bare({}, actor({"record:" + path("record")})));
    if (!with_proc) {
      launch.outer = {"unshare",
                      "--mount",
                      "--propagation",
                      "private",
                      "sh",
                      "-ec",
                      "mount -t tmpfs none /proc; exec \"$@\"",
                      "sh"};
    }
    launch.in_child = [with_proc] {
      for (const int fd : {3, 4, 9, 63, 500, 1023}) dup2(2, fd);
      // Beyond the usual numbers something has to tell which are open.
      if (with_proc) dup2(2, 1500);
    };
    const Ended ended = end_of(launch);
    EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
    EXPECT_EQ(Json::parse(read_file(path("record"))).keys("/fds"), (Words{"0", "1", "2"}))
        << (with_proc ? "with" : "without") << " /proc";
    std::filesystem::remove(path("record"));
    clear_records();
  }
}

class DeniedSubreaper : public DeniedCalls {
 protected:
  // Without a subreaper detached children escape; what may be claimed depends on what else there
  // is.
  void expect_no_false_claim(const std::string& error) {
    Launch launch = denying(
        "prctl:set_child_subreaper", error,
        reported(bare({"--cleanup-timeout", "1"},
                      actor({"daemon", "[", "bound:9000", "beat:1", "]", "await:1", "exit:0"}))));
    launch.may_leave = true;
    allow_leftovers();
    const Ended ended = end_of(launch);
    ASSERT_TRUE(ended.receipt) << ended.text();
    if (!ended.receipt->return_code) {
      EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some}));
      EXPECT_TRUE(holds(*ended.receipt->error, "Cannot supervise"));
      EXPECT_EQ(ended.status, 1);
    } else {
      EXPECT_TRUE(
          receipt_is(ended, {.confirmed = std::nullopt, .codes = {0}, .error = Error::any}));
      if (ended.receipt->cleanup_confirmed) {
        EXPECT_TRUE(ended.survivors.empty()) << "a false claim" << ended.text();
        EXPECT_TRUE(beats_.still(1));
      } else {
        EXPECT_TRUE(ended.receipt->error);
      }
    }
    mop_up();
    clear_records();
  }
};

TEST_F(DeniedSubreaper, means_not_started_or_proven_otherwise) {
  for (const char* error : {"ENOSYS", "EPERM", "EINVAL"}) {
    SCOPED_TRACE(error);
    expect_no_false_claim(error);
  }
}

TEST_F(DeniedSubreaper, that_only_pretends_is_noticed) { expect_no_false_claim("0"); }

TEST_F(DeniedSubreaper, without_a_cgroup_either_is_not_started) {
  NEEDS_ROOT();
  Launch launch = as_user(bare({}, actor({"touch:1"})), lonely_uid());
  for (const char* error : {"EINVAL", "EPERM", "0"}) {
    const Ended ended = end_of(denying("prctl:set_child_subreaper", error, launch));
    EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some})) << error;
    EXPECT_EQ(beats_.count(1), 0u) << error;
    clear_records();
  }
}

class DeniedKill : public DeniedCalls {};

TEST_F(DeniedKill, leaves_nothing_confirmed_that_lives) {
  // No signal gets through at all: bounded, named, unconfirmed. The actors end by themselves.
  Launch launch = denying("kill,tgkill,pidfd_send_signal", "EPERM",
                          run({"--timeout", "0.5", "-k", "0.4"},
                              {actor_binary(), "bound:6000", "beats:" + beats_.path(), "daemon",
                               "[", "beat:1", "]", "beat:2"}));
  launch.may_leave = true;
  allow_leftovers();
  const Ended ended = end_of(launch);
  // A writable cgroup kills without signals of ours.
  EXPECT_TRUE(
      receipt_is(ended, {.confirmed = std::nullopt, .error = Error::any, .timed_out = true}));
  ASSERT_TRUE(ended.receipt);
  if (ended.receipt->cleanup_confirmed) {
    EXPECT_TRUE(ended.survivors.empty()) << ended.text();
  } else {
    EXPECT_EQ(ended.status, 123);
    EXPECT_TRUE(ended.receipt->error);
    EXPECT_GT(ended.report->size("/survivors"), 0u);
  }
  EXPECT_LT(ended.seconds, 15);
}

}  // namespace
