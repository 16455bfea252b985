// quietusctl bootstrap and cache, as a user drives them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bootstrap/roots.hpp"
#include "bootstrap/scene.hpp"
#include "harness/features.hpp"

extern char** environ;

namespace bootstrap_tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Ctl : public Scene {
 protected:
  Ctl() {
    // A user with a home of his own.
    set("HOME", path("home"));
    set("XDG_CACHE_HOME", path("cache-home"));
    set("XDG_CONFIG_HOME", path("config-home"));
    set("XDG_STATE_HOME", path("state-home"));
    fs::create_directories(path("home"));
    const std::string archive = make_archive(
        {{.path = "tool-1.0/tool", .content = harness::read_file(musl_build("x86_64"))}});
    server_.serve("/example.invalid/tool.tar.gz", archive);
    set("QUIETUS_MIRROR", server_.address());
    write_manifest(path("tool.toml"), sha256_of_text(archive));
    archive_ = archive;
  }
  ~Ctl() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }

  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  static void write_manifest(const std::string& file, const std::string& sha256) {
    const std::string line = sha256.empty() ? "" : "sha256 = \"" + sha256 + "\"\n";
    harness::write_file(file,
                        "name = \"tool\"\nversion = \"1.0\"\ncheck = [\"--version\"]\n"
                        "expect = \"quietus \"\n[[target]]\nmachine = \"x86_64\"\n"
                        "url = \"https://example.invalid/tool.tar.gz\"\n" +
                            line + "member = \"tool-1.0/tool\"\n");
  }
  ToolRun ctl(const Words& words) {
    return run_tool(Words{QUIETUS_BUILD_DIR "/quietusctl"} + words);
  }
  std::string root() {
    if (!fs::exists(path("root"))) make_busybox_root(path("root"));
    return path("root");
  }
  // What appeared at a terminal for standard error.
  std::string at_terminal(Words words) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    grantpt(master);
    unlockpt(master);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, slave, 2);
    words.insert(words.begin(), QUIETUS_BUILD_DIR "/quietusctl");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    set("TERM", "xterm");
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(slave);
    std::string shown;
    char piece[4096];
    for (ssize_t got = 0; (got = read(master, piece, sizeof piece)) > 0;) {
      shown.append(piece, static_cast<std::size_t>(got));
    }
    close(master);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0) << shown;
    return shown;
  }

  Server server_;
  std::string archive_;
  std::vector<std::string> set_;
};

#define NEEDS_ROOT_FOR_BWRAP()                \
  NEEDS_ROOT();                               \
  NEEDS(harness::has_tool("bwrap"), "bwrap"); \
  NEEDS(!busybox().empty(), "busybox-static")

TEST_F(Ctl, PutsTheSupervisorThereAndPrintsItsPath) {
  NEEDS_ROOT_FOR_BWRAP();
  const Words sandbox = {"--sandbox", "bwrap:" + root()};
  const ToolRun dry = ctl(Words{"bootstrap", "supervisor", "--print-path", "-n"} + sandbox);
  ASSERT_TRUE(dry.worked) << dry.out;
  EXPECT_FALSE(harness::exists(root() + "/tmp/quietus-0"));
  const ToolRun run = ctl(Words{"bootstrap", "supervisor", "--print-path"} + sandbox);
  ASSERT_TRUE(run.worked) << run.out;
  EXPECT_EQ(run.out, dry.out);
  ASSERT_TRUE(run.out.ends_with("/quietus\n")) << run.out;
  EXPECT_EQ(harness::read_file(root() + run.out.substr(0, run.out.size() - 1)),
            harness::read_file(musl_build("x86_64")));
  const ToolRun again = ctl(Words{"bootstrap", "supervisor", "--json"} + sandbox);
  const json said = json::parse(again.out);
  EXPECT_EQ(said["sent"], 0);
  EXPECT_EQ(said["how"], "present");
  EXPECT_EQ(said["platform"]["machine"], "x86_64");
  const ToolRun elsewhere =
      ctl(Words{"bootstrap", "supervisor", "--print-path", "-d", "/opt"} + sandbox);
  EXPECT_TRUE(elsewhere.out.starts_with("/opt/quietus-0/")) << elsewhere.out;
}

TEST_F(Ctl, FetchesAToolByItsManifestAndKeepsIt) {
  NEEDS_ROOT_FOR_BWRAP();
  const Words sandbox = {"--sandbox", "bwrap:" + root()};
  const ToolRun first = ctl(Words{"bootstrap", path("tool.toml")} + sandbox);
  ASSERT_TRUE(first.worked) << first.out;
  EXPECT_NE(first.out.find("sandbox  Linux x86_64, no C library"), std::string::npos) << first.out;
  // By its name, once it is installed.
  fs::create_directories(path("config-home/quietus/tools"));
  fs::copy_file(path("tool.toml"), path("config-home/quietus/tools/tool.toml"));
  const ToolRun second = ctl(Words{"bootstrap", "tool", "--json"} + sandbox);
  ASSERT_TRUE(second.worked) << second.out;
  EXPECT_EQ(json::parse(second.out)["sent"], 0);
  EXPECT_EQ(server_.count(), 1u);

  const json entry = json::parse(ctl({"cache", "list", "--json"}).out);
  EXPECT_EQ(entry["tool"], "tool");
  EXPECT_EQ(entry["verified"], true);
  EXPECT_EQ(entry["archive_sha256"], sha256_of_text(archive_));
  EXPECT_TRUE(ctl({"cache", "verify"}).worked);
  harness::write_file(entry["path"], "damaged");
  const ToolRun damaged = ctl({"cache", "verify"});
  EXPECT_FALSE(damaged.worked);
  EXPECT_NE(damaged.out.find("cache prune"), std::string::npos) << damaged.out;
  EXPECT_TRUE(ctl({"cache", "prune"}).worked);
  EXPECT_TRUE(ctl({"cache", "verify"}).worked);
  EXPECT_TRUE(ctl({"cache", "list"}).out.starts_with("nothing in "));
}

TEST_F(Ctl, RefusesWhatHasNoDigestUntilItIsAllowed) {
  NEEDS_ROOT_FOR_BWRAP();
  write_manifest(path("tool.toml"), "");
  const Words words = {"bootstrap", path("tool.toml"), "--sandbox", "bwrap:" + root()};
  const ToolRun refused = ctl(words);
  EXPECT_FALSE(refused.worked);
  EXPECT_NE(refused.out.find("--allow-unverified"), std::string::npos) << refused.out;
  const ToolRun allowed = ctl(words + Words{"--allow-unverified"});
  EXPECT_TRUE(allowed.worked);
  EXPECT_NE(allowed.out.find("it is not verified"), std::string::npos) << allowed.out;
  EXPECT_NE(ctl({"cache", "list"}).out.find("unverified"), std::string::npos);
}

TEST_F(Ctl, SaysWhatIsWrong) {
  const std::pair<Words, const char*> lines[] = {
      {{"bootstrap", "moon", "--sandbox", "local"}, "there is no tool 'moon'"},
      {{"bootstrap", path("no.toml"), "--sandbox", "local"}, "cannot read the manifest"},
      {{"bootstrap", "--sandbox", "local"}, "bootstrap: expected WHAT"},
      {{"bootstrap", "uv"}, "argument --sandbox: is needed"},
      {{"bootstrap", "uv", "-d", "tmp", "--sandbox", "local"}, "an absolute path"},
      {{"bootstrap", "uv", "--print-path", "--json", "--sandbox", "local"}, "does not go with"},
      {{"cache", "clean"}, "expected list, verify or prune"},
      {{"cache"}, "cache: expected"}};
  for (const auto& [words, why] : lines) {
    const ToolRun run = ctl(words);
    EXPECT_FALSE(run.worked);
    EXPECT_NE(run.out.find(why), std::string::npos) << run.out;
  }
}

TEST_F(Ctl, ShowsABarAtATerminalForWhatTakesLonger) {
  NEEDS_ROOT_FOR_BWRAP();
  server_.on("/example.invalid/tool.tar.gz", [&](const HttpRequest&, HttpAnswer& answer) {
    answer.head(200, archive_.size());
    const std::size_t piece = archive_.size() / 15 + 1;
    for (std::size_t at = 0; at < archive_.size(); at += piece) {
      std::this_thread::sleep_for(120ms);
      if (!answer.send(std::string_view(archive_).substr(at, piece))) return;
    }
  });
  const Words words = {"bootstrap", path("tool.toml"), "--sandbox", "bwrap:" + root()};
  const std::string shown = at_terminal(words);
  EXPECT_NE(shown.find("tool 1.0  [======"), std::string::npos) << shown;
  // The second time it is there at once.
  EXPECT_EQ(at_terminal(words).find("tool 1.0  ["), std::string::npos);
}

// The usual supervisor does not run where /tmp runs nothing: another place is found for it.
TEST_F(Ctl, RunsACommandWhereTmpRunsNoPrograms) {
  NEEDS_ROOT_FOR_BWRAP();
  const std::string noexec = path("noexec");
  fs::create_directories(noexec);
  if (!run_tool({"mount", "-t", "tmpfs", "-o", "noexec", "none", noexec}).worked) {
    GTEST_SKIP() << "this host has no right to mount";
  }
  const ToolRun run =
      ctl({"run", "--sandbox", "bwrap:" + root(), "--create-option", "--bind", "--create-option",
           noexec, "--create-option", "/tmp", "--", "sh", "-c", "echo here; exit 7"});
  const ToolRun unmounted = run_tool({"umount", noexec});
  EXPECT_TRUE(unmounted.worked) << unmounted.out;
  EXPECT_NE(run.out.find("here\n"), std::string::npos) << run.out;
  EXPECT_TRUE(harness::exists(root() + "/var/tmp/quietus-0"));
}

}  // namespace
}  // namespace bootstrap_tests
