// quietusctl bootstrap and cache, as a user drives them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bootstrap/children.hpp"
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
  static ToolRun ctl(const Words& words, Child::Errors errors = Child::Errors::with_output) {
    return run_tool(Words{QUIETUS_BUILD_DIR "/quietusctl"} + words, errors);
  }
  // One line that says what is wrong, and nothing else.
  static void expect_refused(const Words& words, int code, std::string_view why) {
    const ToolRun run = ctl(words, Child::Errors::apart);
    EXPECT_EQ(run.code, code) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_NE(run.err.find(why), std::string::npos) << "'" << why << "' is not in " << run.err;
  }
  // One JSON object, and nothing else.
  static json expect_json(const Words& words, int code) {
    const ToolRun run = ctl(words + Words{"--json"}, Child::Errors::apart);
    EXPECT_EQ(run.code, code) << run.err;
    EXPECT_EQ(std::ranges::count(run.out, '\n'), 1) << run.out;
    const json object = json::parse(run.out, nullptr, false);
    EXPECT_TRUE(object.is_object()) << run.out;
    return object;
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

  // What handlers use: longer there than the server.
  std::string archive_;
  std::atomic<bool> begun_ = false;
  Server server_;
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

  const json listed = expect_json({"cache", "list"}, 0);
  ASSERT_EQ(listed["entries"].size(), 1u);
  const json entry = listed["entries"][0];
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
      {{"bootstrap", "", "--sandbox", "local"}, "there is no tool ''"},
      {{"bootstrap", path("no.toml"), "--sandbox", "local"}, "cannot read the manifest"},
      {{"bootstrap", path(""), "--sandbox", "local"}, "cannot read the manifest"},
      {{"bootstrap", "/dev/zero", "--sandbox", "local"}, "cannot read the manifest"},
      {{"bootstrap", "--sandbox", "local"}, "bootstrap: expected WHAT"},
      {{"bootstrap", "uv"}, "argument --sandbox: is needed"},
      {{"bootstrap", "uv", "--sandbox", "moon:1"}, "argument --sandbox"},
      {{"bootstrap", "uv", "-d", "tmp", "--sandbox", "local"}, "an absolute path"},
      {{"bootstrap", "uv", "--print-path", "--json", "--sandbox", "local"}, "does not go with"},
      {{"bootstrap", "uv", "--timeout", "1s", "--sandbox", "local"}, "does not go with"},
      {{"bootstrap", "supervisor", "--payload", "/bin/sh", "-s", "local"}, "is not static"},
      {{"bootstrap", "supervisor", "--payload", "/etc/passwd", "-s", "local"}, "is no program"},
      {{"cache", "clean"}, "expected list, verify or prune"},
      {{"cache", "list", "--all"}, "goes with cache prune only"},
      {{"cache", "verify", "-n"}, "goes with cache prune only"},
      {{"cache"}, "cache: expected"}};
  for (const auto& [words, why] : lines) expect_refused(words, 2, why);
  set("QUIETUS_MIRROR", "mirror.example");
  expect_refused({"bootstrap", "uv", "--sandbox", "local"}, 2, "QUIETUS_MIRROR must start with");
}

// The sandbox is not touched for it: this one could not be opened.
TEST_F(Ctl, RefusesAManifestBeforeAnythingIsDone) {
  const std::string good = harness::read_file(path("tool.toml"));
  const std::pair<std::string, const char*> changes[] = {
      {"", "line 1: 'name' is missing"},
      {"\x7f"
       "ELF",
       "nothing but ASCII"},
      {"name = \"tool", "line 1: "},
      {good + "colour = 1\n", "'colour' is not a key"},
      {good.substr(0, good.find("sha256")) + "sha256 = \"abc\"\n", "64 hexadecimal digits"},
      {good.substr(0, good.find("[[target]]")), "there is no [[target]]"},
      {std::string(2 << 20, '#'), "has more than 1048576 bytes"}};
  for (const auto& [text, why] : changes) {
    harness::write_file(path("tool.toml"), text);
    expect_refused({"bootstrap", path("tool.toml"), "--sandbox", "bwrap:/nowhere"}, 2, why);
  }
  EXPECT_EQ(server_.count(), 0u);
}

TEST_F(Ctl, SaysWhatNoCacheCanBeMadeOf) {
  const Words words = {"bootstrap", path("tool.toml"), "--sandbox", "local", "-d", path("there")};
  harness::write_file(path("file"), "");
  for (const std::string& where : {std::string("/proc/quietus"), path("file")}) {
    set("XDG_CACHE_HOME", where);
    expect_refused(words, 125, "set XDG_CACHE_HOME to a directory that can be written");
  }
  ::unsetenv("XDG_CACHE_HOME");
  // A home that cannot be written, and none at all.
  set("HOME", "/proc");
  expect_refused(words, 125, "cannot make '/proc/.cache");
  EXPECT_TRUE(ctl({"cache", "list"}).out.starts_with("nothing in /proc/.cache/quietus"));
  EXPECT_TRUE(ctl({"cache", "verify"}).worked);
  EXPECT_TRUE(ctl({"cache", "prune"}).worked);
  ::unsetenv("HOME");
  expect_refused(words, 125, "set XDG_CACHE_HOME or HOME");
  expect_refused({"cache", "list"}, 125, "set XDG_CACHE_HOME or HOME");
  EXPECT_EQ(server_.count(), 0u);
}

TEST_F(Ctl, PrintsOneJsonObjectWhateverHappens) {
  const Words local = {"--sandbox", "local", "-d", path("there")};
  EXPECT_EQ(expect_json(Words{"bootstrap", "supervisor"} + local, 0)["how"], "shared");
  const json dry = expect_json(Words{"bootstrap", "uv", "-n"} + local, 0);
  EXPECT_EQ(dry["sent"], 0);
  EXPECT_TRUE(dry["path"].get<std::string>().ends_with("/uv")) << dry;
  EXPECT_EQ(server_.count(), 0u);
  EXPECT_EQ(expect_json({"cache", "list"}, 0)["entries"], json::array());
  EXPECT_EQ(expect_json(Words{"bootstrap", path("tool.toml")} + local, 0)["verified"], true);
  const json listed = expect_json({"cache", "list"}, 0);
  EXPECT_EQ(listed["cache"], path("cache-home") + "/quietus");
  EXPECT_EQ(expect_json({"cache", "verify"}, 0)["damaged"], json::array());
  harness::write_file(listed["entries"][0]["path"], "damaged");
  const json damaged = expect_json({"cache", "verify"}, 1);
  ASSERT_EQ(damaged["damaged"].size(), 1u);
  EXPECT_EQ(damaged["damaged"][0]["error"].get<std::string>().find("it has 7 bytes"), 0u);
  EXPECT_EQ(expect_json({"cache", "prune", "-n"}, 0)["removed"].size(), 1u);
  expect_json({"cache", "verify"}, 1);
  EXPECT_EQ(expect_json({"cache", "prune"}, 0)["removed"].size(), 1u);
  EXPECT_EQ(expect_json({"cache", "prune", "--all"}, 0)["bytes"], 0);
  // Errors too, and of each kind.
  const json unknown = expect_json(Words{"bootstrap", "moon"} + local, 2);
  EXPECT_EQ(unknown["error"]["kind"], "input");
  write_manifest(path("tool.toml"), sha256_of_text("another"));
  const json wrong = expect_json(Words{"bootstrap", path("tool.toml")} + local, 125);
  EXPECT_NE(wrong["error"]["message"].get<std::string>().find("the digest of"), std::string::npos);
  EXPECT_TRUE(
      expect_json({"bootstrap", "uv", "--sandbox", "bwrap:/nowhere"}, 125)["error"].contains(
          "message"));
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_TRUE(expect_json({"cache", "list"}, 125).contains("error"));
}

// ^C: no half is used, and the next one goes on where it ended.
TEST_F(Ctl, IsInterruptedInTheMiddleOfADownload) {
  server_.on("/example.invalid/tool.tar.gz",
             [this](const HttpRequest& request, HttpAnswer& answer) {
               if (request.count > 0) return answer.body(request, archive_);
               answer.head(200, archive_.size());
               answer.send(std::string_view(archive_).substr(0, archive_.size() / 2));
               begun_ = true;
               while (!server_.is_over()) std::this_thread::sleep_for(5ms);
             });
  const Words words = {QUIETUS_BUILD_DIR "/quietusctl",
                       "bootstrap",
                       path("tool.toml"),
                       "--sandbox",
                       "local",
                       "-d",
                       path("there")};
  Child child;
  child.start(words);
  ASSERT_TRUE(harness::eventually([this] { return begun_.load(); }, 100));
  child.signal(SIGINT);
  EXPECT_EQ(child.wait(), 125);
  EXPECT_NE(child.output().find("was cancelled"), std::string::npos) << child.output();
  EXPECT_TRUE(ctl({"cache", "list"}).out.starts_with("nothing in "));
  const ToolRun again = run_tool(words);
  EXPECT_TRUE(again.worked) << again.out;
  ASSERT_EQ(server_.count(), 2u);
  EXPECT_TRUE(server_.requests().at(1).has_range);
}

// Both builds lie beside an installed quietusctl, with their digests, and are used from there.
TEST_F(Ctl, BringsItsSupervisorsFromWhereItIsInstalled) {
  const std::string prefix = path("prefix");
  const ToolRun installed = run_tool(
      {"cmake", "--install", QUIETUS_BUILD_DIR, "--component", "quietusctl", "--prefix", prefix});
  ASSERT_TRUE(installed.worked) << installed.out;
  const std::string folder = prefix + "/libexec/quietus/";
  for (const char* machine : {"x86_64", "aarch64"}) {
    const std::string build = harness::read_file(musl_build(machine));
    EXPECT_EQ(harness::read_file(folder + "quietus-" + machine), build);
    EXPECT_NE(harness::read_file(folder + "SHA256SUMS")
                  .find(sha256_of_text(build) + "  quietus-" + machine + "\n"),
              std::string::npos);
  }
  const Words words = {
      prefix + "/bin/quietusctl", "bootstrap", "supervisor", "--sandbox", "local", "--print-path"};
  const ToolRun run = run_tool(words);
  EXPECT_EQ(run.out, folder + "quietus-x86_64\n");
  // It is the one that a session takes, too.
  const ToolRun session =
      run_tool({prefix + "/bin/quietusctl", "run", "--sandbox", "local", "--", "echo", "here"});
  EXPECT_EQ(session.out, "here\n");
  // One that was changed is not used.
  harness::write_file(folder + "quietus-x86_64", harness::read_file("/bin/true"));
  const ToolRun changed = run_tool(words);
  EXPECT_EQ(changed.code, 125);
  EXPECT_NE(changed.out.find("quietus-x86_64' is not what SHA256SUMS beside it lists"),
            std::string::npos)
      << changed.out;
}

TEST_F(Ctl, ShowsABarAtATerminalForWhatTakesLonger) {
  NEEDS_ROOT_FOR_BWRAP();
  server_.on("/example.invalid/tool.tar.gz", [this](const HttpRequest&, HttpAnswer& answer) {
    answer.head(200, archive_.size());
    const std::size_t piece = archive_.size() / 12 + 1;
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
  const Tmpfs noexec(path("noexec"), MS_NOEXEC);
  NEEDS(noexec.is_mounted(), "right to mount");
  const ToolRun run =
      ctl({"run", "--sandbox", "bwrap:" + root(), "--create-option", "--bind", "--create-option",
           path("noexec"), "--create-option", "/tmp", "--", "sh", "-c", "echo here; exit 7"});
  EXPECT_EQ(run.code, 7);
  EXPECT_NE(run.out.find("here\n"), std::string::npos) << run.out;
  EXPECT_TRUE(harness::exists(root() + "/var/tmp/quietus-0"));
}

}  // namespace
}  // namespace bootstrap_tests
