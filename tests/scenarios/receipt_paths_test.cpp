// Where the receipt goes: odd names, traps that a worker lays, and places that refuse it.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "harness/scenario.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

class ReceiptPaths : public Scenario {
 protected:
  static Words names_in(const std::string& directory) {
    Words names;
    DIR* open = opendir(directory.c_str());
    while (const dirent* entry = readdir(open)) names.push_back(entry->d_name);
    closedir(open);
    std::erase(names, ".");
    std::erase(names, "..");
    std::sort(names.begin(), names.end());
    return names;
  }
  Launch to(const std::string& receipt, const Words& command, const Words& options = {}) const {
    return bare(options + Words{"--receipt", receipt}, command);
  }
};

TEST_F(ReceiptPaths, any_name_is_taken_as_it_is_and_nothing_else_is_left) {
  for (const std::string& name :
       {std::string("r"), std::string("r.tmp"), std::string(".r"), std::string("r.tar.tmp"),
        std::string("a b 'c' \"d\".json"), std::string("new\nline.json"), std::string("-r.json"),
        std::string("\xc3\xbc\xff\xfe.json"), std::string("r."), std::string("$(id).json"),
        std::string(".tmp"), std::string("..."), std::string(250, 'n') + ".json"}) {
    fs::create_directory(path("d"));
    const Ended ended = end_of(to(path("d") + "/" + name, actor({"exit:0"})));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << name << ended.err;
    EXPECT_EQ(names_in(path("d")), Words{name});
    fs::remove_all(path("d"));
  }
}

TEST_F(ReceiptPaths, may_be_relative_and_roundabout) {
  fs::create_directory(path("d"));
  for (const char* name : {"r.json", "./-r.json", "d/../r2.json", "d//r3.json"}) {
    Launch launch = to(name, actor({"chdir:/", "exit:0"}));
    launch.directory = path("");
    launch.receipt = path(name);
    EXPECT_EQ(end_of(launch).receipt_bytes, exactly(true, 0, std::nullopt, false)) << name;
  }
}

TEST_F(ReceiptPaths, a_deleted_working_directory_leaves_no_place_for_a_relative_one) {
  fs::create_directory(path("d"));
  Launch launch = to("r.json", actor({"exit:0"}));
  launch.in_child = [directory = path("d")] {
    if (chdir(directory.c_str()) != 0 || rmdir(directory.c_str()) != 0) _exit(97);
  };
  launch.receipt = path("d/r.json");
  const Ended ended = end_of(launch);
  EXPECT_EQ(ended.status, 1) << ended.text();
  EXPECT_TRUE(holds(ended.err, "r.json"));
}

class Traps : public ReceiptPaths {
 protected:
  // The worker lays the trap at the receipt's own path, then runs into its deadline.
  Ended trapped(const Words& trap) {
    return end_of(to(path("d/r.json"), actor(trap + Words{"daemon", "[", "beat:1", "]", "beat:2"}),
                     {"--timeout", "0.6"}));
  }
  void SetUp() override {
    fs::create_directory(path("d"));
    write_file(path("victim"), "untouched");
  }
  void expect_true_receipt(const Ended& ended) {
    EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, std::nullopt, true)) << ended.text();
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path("d/r.json"))));
    EXPECT_EQ(read_file(path("victim")), "untouched");
    EXPECT_EQ(names_in(path("d")), Words{"r.json"});
    EXPECT_TRUE(beats_.gone(1));
  }
};

TEST_F(Traps, a_forged_receipt_is_replaced) {
  const std::string forged = exactly(true, 0, std::nullopt, false);
  // A colon would end the argument: the forgery is copied into place.
  write_file(path("forged"), forged);
  expect_true_receipt(
      end_of(to(path("d/r.json"),
                {"sh", "-c",
                 "cp " + path("forged") + " " + path("d/r.json") + "; exec " + actor_binary() +
                     " beats:" + beats_.path() + " bound:20000 daemon [ beat:1 ] beat:2"},
                {"--timeout", "0.8"})));
}

TEST_F(Traps, a_symlink_is_replaced_and_not_followed) {
  expect_true_receipt(trapped({"symlink:" + path("victim") + ":" + path("d/r.json")}));
}

TEST_F(Traps, a_dangling_symlink_is_replaced_and_not_followed) {
  expect_true_receipt(trapped({"symlink:" + path("nowhere") + ":" + path("d/r.json")}));
  EXPECT_FALSE(exists(path("nowhere")));
}

TEST_F(Traps, a_named_pipe_is_replaced_and_blocks_nobody) {
  expect_true_receipt(trapped({"mkfifo:" + path("d/r.json")}));
}

TEST_F(Traps, a_directory_cannot_be_replaced_and_that_is_told) {
  const Ended ended = trapped({"mkdir:" + path("d/r.json"), "mkdir:" + path("d/r.json/x")});
  EXPECT_EQ(ended.status, 1) << ended.text();
  EXPECT_TRUE(holds(ended.err, path("d/r.json")));
  EXPECT_TRUE(beats_.gone(1)) << "the cleanup was not done";
  EXPECT_EQ(names_in(path("d")), Words{"r.json"}) << "the temporary file was left";
}

TEST_F(Traps, the_names_that_a_temporary_file_might_have_are_left_alone) {
  Words names;
  for (const char* name : {"r.tmp", "r.json.tmp", ".r.json.tmp", "r.json~", "r.json.new", ".r.json",
                           "r.json.part", "r.json.swp", "tmp", ".tmp", "r.json.0"}) {
    names.push_back(name);
  }
  Words sorted = names + Words{"r.json"};
  std::sort(sorted.begin(), sorted.end());
  struct Kind {
    const char* verb;
    const char* rest;
  };
  for (const Kind& kind : {Kind{"mkfifo:", ""}, Kind{"write:", ":precious"}}) {
    Words script;
    for (const std::string& name : names) {
      script.push_back(kind.verb + path("d/" + name) + kind.rest);
    }
    EXPECT_EQ(end_of(to(path("d/r.json"), actor(script))).receipt_bytes,
              exactly(true, 0, std::nullopt, false));
    EXPECT_EQ(names_in(path("d")), sorted);
    if (std::string_view(kind.verb) == "write:") {
      for (const std::string& name : names) {
        EXPECT_EQ(read_file(path("d/" + name)), "precious") << name;
      }
    }
    fs::remove_all(path("d"));
    fs::create_directory(path("d"));
  }
}

// The receipt cannot be written: the cleanup is done all the same, the exit code and one line say
// so.
class Unwritable : public ReceiptPaths {
 protected:
  void expect_told(const Launch& launch, int code) {
    const Ended ended = end_of(launch);
    EXPECT_EQ(ended.status, code) << ended.text();
    EXPECT_TRUE(holds(ended.err, "quietus: ")) << ended.text();
    EXPECT_TRUE(holds(ended.err, launch.receipt)) << "the path is not named";
    EXPECT_LT(ended.seconds, 15);
    EXPECT_TRUE(beats_.still(1));
  }
  // The worker does something to the directory, and leaves a daemon behind.
  Words after(const std::string& shell_words) const {
    return {"sh", "-c",
            shell_words + "; " + actor_binary() + " bound:20000 beats:" + beats_.path() +
                " daemon [ beat:1 ] await:1; exit 0"};
  }
};

TEST_F(Unwritable, a_directory_that_does_not_exist) {
  expect_told(to(path("gone/r.json"), after(":")), 1);
  expect_told(run({"--receipt", path("gone/r.json")}, after(":")), 125);
}

TEST_F(Unwritable, a_directory_that_the_worker_removed) {
  fs::create_directory(path("d"));
  expect_told(to(path("d/r.json"), after("rmdir " + path("d"))), 1);
}

TEST_F(Unwritable, a_parent_that_is_a_file) {
  write_file(path("file"), "");
  expect_told(to(path("file/r.json"), after(":")), 1);
}

TEST_F(Unwritable, a_name_that_is_too_long) {
  expect_told(to(path(std::string(300, 'x')), after(":")), 1);
}

TEST_F(Unwritable, a_directory_without_write_permission) {
  NEEDS_ROOT();
  fs::create_directory(path("ro"));
  fs::permissions(path("ro"), fs::perms(0555));
  Launch launch = as_user(to(path("ro/r.json"), actor({"daemon", "[", "beat:1", "]", "await:1"})),
                          lonely_uid());
  expect_told(launch, 1);
  EXPECT_TRUE(names_in(path("ro")).empty());
}

TEST_F(Unwritable, a_read_only_file_system) {
  NEEDS_ROOT();
  fs::create_directory(path("m"));
  Launch launch = to(path("m/r.json"), actor({"daemon", "[", "beat:1", "]", "await:1"}));
  launch.outer = {"unshare",
                  "--mount",
                  "--propagation",
                  "private",
                  "sh",
                  "-ec",
                  "mount -t tmpfs -o ro none " + path("m") + "; exec \"$@\"",
                  "sh"};
  expect_told(launch, 1);
}

TEST_F(Unwritable, a_full_disk_leaves_no_half_receipt) {
  // A file system of one page, which is taken; what is in it is copied out before it vanishes.
  NEEDS_ROOT();
  const std::string disk = path("m");
  fs::create_directory(disk);
  Launch launch = to(path("m/r.json"), actor({"daemon", "[", "beat:1", "]", "await:1"}));
  launch.outer = {"unshare",
                  "--mount",
                  "--propagation",
                  "private",
                  "sh",
                  "-ec",
                  "mount -t tmpfs -o size=4k none " + disk + "; head -c 4096 /dev/zero > " + disk +
                      "/filler; : > " + disk + "/r.json; set +e; \"$@\"; code=$?; ls -A " + disk +
                      " > " + path("names") + "; cat " + disk + "/r.json > " + path("copy") +
                      "; exit $code",
                  "sh"};
  expect_told(launch, 1);
  EXPECT_EQ(read_file(path("names")), "filler\nr.json\n");
  EXPECT_EQ(read_file(path("copy")), "");
}

TEST_F(Unwritable, a_report_on_a_full_disk_is_told_and_the_receipt_is_written) {
  const Ended ended = end_of(run({"--report", "/dev/null/report"}, actor({"exit:0"})));
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_TRUE(holds(ended.err, "/dev/null/report"));
  ASSERT_TRUE(ended.receipt);
  EXPECT_TRUE(ended.receipt->cleanup_confirmed);
  EXPECT_TRUE(ended.receipt->error);
}

TEST_F(Unwritable, a_replaced_directory_gets_the_receipt_at_the_path_that_was_given) {
  fs::create_directory(path("d"));
  const Ended ended = end_of(
      to(path("d/r.json"), after("mv " + path("d") + " " + path("old") + "; mkdir " + path("d"))));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
  EXPECT_EQ(ended.status, 0);
  EXPECT_TRUE(names_in(path("old")).empty());
}

}  // namespace
