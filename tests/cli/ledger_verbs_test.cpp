// list, status, stop, gc, and the ledger behind them.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "ctl_scene.hpp"

namespace cli_tests {
namespace {

namespace fs = std::filesystem;

class CtlLedgerVerbs : public CtlScene {
 protected:
  // A session whose command has said that it runs.
  Running running_session(const Words& more = {}) {
    Running running = start(
        ctl(Words{"run"} + more + Words{"sh", "-c", "echo up >" + path("up") + "; exec sleep 60"}));
    EXPECT_TRUE(eventually([&] { return exists(path("up")); }));
    return running;
  }
  // A file of the ledger, written by hand.
  static std::string entry(const std::string& id, const std::string& directory,
                           const std::string& sandbox = "local") {
    return R"({"schema":"quietus-ledger","schema_version":1,"id":")" + id + R"(","sandbox":")" +
           sandbox + R"(","reach":"","ownership":"borrowed","directory":")" + directory +
           R"(","command":"","into":"","programs":{},"controller":{"pid":1,)"
           R"("start_ticks":1,"boot_id":""},"created":1})";
  }
  std::string id() const {
    const auto files = ledger_files();
    for (const std::string& name : files) {
      if (name.ends_with(".json")) return name.substr(0, name.size() - 5);
    }
    return "";
  }
};

TEST_F(CtlLedgerVerbs, ASessionIsListedWhileItLives) {
  EXPECT_EQ(does({"list"}).out, "no sessions\n");
  Running running = running_session();
  const Ended text = does({"list"});
  EXPECT_TRUE(holds(text.out, id().substr(0, 8)));
  EXPECT_TRUE(holds(text.out, "pid " + std::to_string(running.pid())));
  const Json json = Json::parse(does({"list", "--json"}).out);
  EXPECT_EQ(json.size("/sessions"), 1u);
  EXPECT_TRUE(json.boolean("/sessions/0/controller_lives"));
  EXPECT_EQ(json.text("/sessions/0/session"), id());
  running.signal(SIGINT);
  EXPECT_EQ(running.wait(60).status, 122);
  EXPECT_EQ(Json::parse(does({"list", "--json"}).out).size("/sessions"), 0u);
}

TEST_F(CtlLedgerVerbs, StatusShowsWhatRuns) {
  Running running = running_session({"-t", "50"});
  const Ended text = does({"status"});
  EXPECT_EQ(text.status, 0) << text.text();
  EXPECT_EQ(text.out.rfind("running, for ", 0), 0u) << text.out;
  EXPECT_TRUE(holds(text.out, "sleep 60"));
  const Json json = Json::parse(does({"status", id().substr(0, 4), "--json"}).out);
  EXPECT_EQ(json.text("/status/state"), "running");
  running.signal(SIGINT);
  (void)running.wait(60);
}

TEST_F(CtlLedgerVerbs, StopEndsItAndItsControllerReleasesIt) {
  Running running = running_session();
  const Ended stop = does({"stop", id()});
  EXPECT_EQ(stop.status, 0) << stop.text();
  // Its controller may be faster than the stop, and take the receipt with the directory.
  EXPECT_TRUE(stop.out.find("\"cleanup_confirmed\": true") != std::string::npos ||
              stop.out.find("its controller has confirmed") != std::string::npos)
      << stop.text();
  const Ended ended = running.wait(60);
  EXPECT_EQ(ended.status, 122) << ended.text();
}

TEST_F(CtlLedgerVerbs, ASessionThatIsNotThereIsSaidSo) {
  for (const char* verb : {"stop", "status"}) {
    const Ended none = does({verb});
    EXPECT_EQ(none.status, 125) << none.text();
    EXPECT_TRUE(one_line(none.err));
    EXPECT_TRUE(holds(does({verb, "abc"}).err, "no session begins with 'abc'"));
  }
  Running one = running_session();
  Running two = running_session();
  EXPECT_TRUE(eventually([&] { return ledger_files().size() >= 2; }));
  EXPECT_TRUE(holds(does({"stop"}).err, "more than one session"));
  one.signal(SIGINT);
  two.signal(SIGINT);
  (void)one.wait(60);
  (void)two.wait(60);
}

TEST_F(CtlLedgerVerbs, GcLeavesTheLivingAlone) {
  Running running = running_session();
  const Ended gc = does({"gc", "--json"});
  EXPECT_EQ(gc.status, 0) << gc.text();
  EXPECT_EQ(Json::parse(gc.out).text("/action"), "alive");
  EXPECT_TRUE(holds(does({"gc", "--forget", id()}).err, "controller of this session lives"));
  EXPECT_EQ(Json::parse(does({"status", "--json"}).out).text("/status/state"), "running");
  running.signal(SIGINT);
  EXPECT_EQ(running.wait(60).status, 122);
}

TEST_F(CtlLedgerVerbs, GcEndsWhatAKilledControllerLeft) {
  Running running = running_session();
  kill(running.pid(), SIGKILL);
  (void)running.wait(10);
  const Ended dry = does({"gc", "--dry-run"});
  EXPECT_EQ(dry.status, 0) << dry.text();
  EXPECT_TRUE(holds(dry.out, "would be released"));
  EXPECT_EQ(ledger_files().size(), 1u) << "a dry run changes nothing";
  const Ended gc = does({"gc"});
  EXPECT_EQ(gc.status, 0) << gc.text();
  EXPECT_TRUE(holds(gc.out, "released"));
  EXPECT_TRUE(holds(gc.out, "cleanup confirmed"));
  EXPECT_TRUE(gc.survivors.empty()) << gc.text();
}

TEST_F(CtlLedgerVerbs, AnEntryThatCannotBeReadIsToldAndKept) {
  allow_sessions();
  fs::create_directories(ledger_path(""));
  const std::string name = std::string(32, 'a') + ".json";
  write_file(ledger_path(name), "{ no entry");
  const Ended gc = does({"gc"});
  EXPECT_EQ(gc.status, 125) << gc.text();
  EXPECT_TRUE(one_line(gc.err));
  EXPECT_TRUE(holds(gc.err, name));
  EXPECT_EQ(read_file(ledger_path(name)), "{ no entry");
  EXPECT_TRUE(holds(does({"list"}).out, name));
  EXPECT_EQ(Json::parse(does({"gc", "--json"}).out).text("/action"), "unreadable");
}

// An entry names what is removed: so one that somebody has changed must not reach anything else.
TEST_F(CtlLedgerVerbs, AForgedEntryRemovesNothingElse) {
  allow_sessions();
  fs::create_directories(ledger_path(""));
  fs::create_directories(path("precious"));
  write_file(path("precious/x"), "x");
  const std::string id(32, 'b');
  write_file(ledger_path(id + ".json"), entry(id, path("precious")));
  EXPECT_EQ(does({"gc"}).status, 125);
  EXPECT_EQ(does({"gc", "--forget", id}).status, 125);
  EXPECT_EQ(read_file(path("precious/x")), "x");
}

// A session whose final receipt says that its end is not proven, as recovery leaves it.
TEST_F(CtlLedgerVerbs, WhatCannotBeConfirmedStaysUntilItIsForgotten) {
  const std::string id(32, 'c');
  const std::string directory = path("sessions/quietus-" + id);
  fs::create_directories(directory);
  fs::permissions(directory, fs::perms::owner_all);
  fs::create_symlink("launch", directory + "/launch.claim");
  write_file(directory + "/cleanup.json", exactly(false, std::nullopt, "one is left", false));
  fs::create_directories(ledger_path(""));
  write_file(ledger_path(id + ".json"), entry(id, directory));
  const Ended gc = does({"gc"});
  EXPECT_EQ(gc.status, 123) << gc.text();
  EXPECT_TRUE(holds(gc.out, "cleanup NOT confirmed"));
  EXPECT_TRUE(exists(directory)) << "it is the evidence";
  EXPECT_EQ(ledger_files().size(), 1u);
  const Ended stop = does({"stop"});
  EXPECT_EQ(stop.status, 123) << stop.text();
  const Ended forget = does({"gc", "--forget", id.substr(0, 4)});
  EXPECT_EQ(forget.status, 123) << forget.text();
  EXPECT_TRUE(holds(forget.out, "forgotten"));
}

TEST_F(CtlLedgerVerbs, ASandboxThatHasStoppedIsToldInOneLine) {
  const std::string id(32, 'd');
  write_file(path("box.toml"), "exec = ['false', '{argv}']\nstatus = ['false']");
  const std::string box = "template:" + path("box.toml");
  fs::create_directories(ledger_path(""));
  write_file(ledger_path(id + ".json"), entry(id, "/tmp/quietus-" + id, box));
  const std::string told = "'" + box + "' has stopped; start it, or give the session up: " +
                           "quietusctl gc --forget dddddddd\n";
  for (const Words& verb : {Words{"status"}, Words{"stop"}, Words{"gc"}}) {
    const Ended ended = does(verb);
    EXPECT_EQ(ended.status, 125) << ended.text();
    EXPECT_TRUE(ended.err.ends_with(told)) << ended.text();
    EXPECT_TRUE(one_line(ended.err)) << ended.text();
  }
  EXPECT_EQ(ledger_files().size(), 1u) << "it is the evidence";
  const Ended forget = does({"gc", "--forget", "dddd"});
  EXPECT_TRUE(holds(forget.out, "forgotten"));
  EXPECT_EQ(forget.err, "quietusctl: nobody knows how it ended: '" + box + "' has stopped\n");
  EXPECT_EQ(forget.status, 0) << "it is what was asked for";
  EXPECT_TRUE(ledger_files().empty());
}

}  // namespace
}  // namespace cli_tests
