// Adapters in a real sandbox: staging, running, collecting, reading.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "adapters/adapter_scene.hpp"
#include "harness/beats.hpp"

namespace adapter_tests {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Adapters : public AdapterScene {};

TEST_F(Adapters, CommandRunsWhatStandsBehindTheDashes) {
  AdapterRun with = prepared();
  with.arguments = {"sh", "-c", "pwd; echo \"$1\"; exit 3", "sh", "two  {words}"};
  const Ran ran = session_of(*shipped("command"), with);
  EXPECT_TRUE(succeeded(ran.executed));
  EXPECT_EQ(ran.log, work() + "\ntwo  {words}\n");
  EXPECT_EQ(ran.result->json, "3");
  EXPECT_THAT(problems(ran.collected), IsEmpty());
}

TEST_F(Adapters, CommandNeedsOne) {
  EXPECT_TRUE(failed(stage(*shipped("command"), prepared()), ErrorKind::input,
                     "has no program to run; write the command behind --"));
}

TEST_F(Adapters, CommandIsEndedAtItsDeadlineWithItsDaemons) {
  const harness::Beats beats(path("beats"));
  AdapterRun with = prepared();
  with.arguments = {harness::actor_binary(),
                    "beats:" + beats.path(),
                    "daemon",
                    "[",
                    "ignore:TERM",
                    "beat:1",
                    "]",
                    "await:1",
                    "hold"};
  const Ran ran = session_of(*shipped("command"), with, 3s);
  ASSERT_GT(beats.count(1), 0u) << "it never lived";
  ASSERT_TRUE(ran.receipt);
  EXPECT_TRUE(ran.receipt->cleanup_confirmed);
  EXPECT_TRUE(ran.receipt->timed_out);
  EXPECT_TRUE(beats.gone(1));
}

constexpr std::string_view kWhole = R"toml(
name = "whole"
[params.greeting]
default = "hello"

[[install]]
check = ["test", "-x", "{workdir}/tool"]
run = '''
cat >tool <<'END'
#!/bin/sh
read -r name <"$1"
printf '%s, %s' "$GREETING" "$name" >said.txt
printf '{{"said": "%s"}}' "$(cat said.txt)" >out.json
exit 4
END
chmod +x tool
'''
cwd = "{workdir}"

[[files]]
text = "{{{param.greeting|json}}}"
to = "greeting.json"
mode = 0o600

[command]
argv = ["{workdir}/tool", "{input}"]
environment = { GREETING = "{param.greeting}" }

[[artifacts]]
glob = "*.txt"

[result]
read = "json"
file = "out.json"
value = "/said"
)toml";

TEST_F(Adapters, InstallStageRunCollectAndRead) {
  const auto whole = adapter(kWhole);
  harness::write_file(path("name.md"), "world\n");
  AdapterRun with = prepared();
  with.input = path("name.md");
  with.parameters = {{"greeting", "good \"day\""}};
  const Ran ran = session_of(*whole, with);
  ASSERT_TRUE(succeeded(ran.executed)) << ran.log;
  EXPECT_EQ(ran.receipt->return_code, 4);
  EXPECT_EQ(fetched(ran.collected, into() + "/said.txt"), "good \"day\", world");
  EXPECT_THAT(ran.progress,
              ElementsAre("installing (step 1 of 1)", "staging " + work() + "/greeting.json",
                          "fetching " + work() + "/said.txt"));
  EXPECT_EQ(harness::read_file(work() + "/greeting.json"), "{\"good \\\"day\\\"\"}");
  EXPECT_EQ(fs::status(work() + "/greeting.json").permissions(), fs::perms{0600});
  // The tool does not escape what it writes, so that this is no JSON; the next run's is.
  EXPECT_TRUE(failed(ran.result, ErrorKind::sandbox, "what it wrote is not JSON"));

  with.parameters.clear();
  const Ran again = session_of(*whole, with);
  ASSERT_TRUE(succeeded(again.result));
  EXPECT_EQ(again.result->text, "hello, world");
  EXPECT_THAT(again.progress, testing::Not(testing::Contains(HasSubstr("installing"))));
}

TEST_F(Adapters, InputIsForTheSessionsEyesOnlyAndGoesWithIt) {
  harness::write_file(path("task.md"), "secret\n");
  AdapterRun with = prepared();
  with.input = path("task.md");
  const Ran ran = session_of(*adapter(R"(
name = "eyes"
[command]
argv = ["sh", "-c", 'cat "$1"; stat -c %a "$1" "${{1%/*}}"; echo "$2"', "sh", "{input}", "{input.text}"]
)"),
                             with);
  EXPECT_EQ(ran.log, "secret\n600\n700\nsecret\n\n");
}

TEST_F(Adapters, HomeIsTheSandboxs) {
  const Ran ran = session_of(
      *adapter(
          "name = 'home'\nparams.p.default = '{home}/x'\ncommand.argv = ['echo', '{param.p}']"),
      prepared());
  EXPECT_EQ(ran.log, std::string(getenv("HOME")) + "/x\n");
}

// Staging.

std::string install(std::string_view check, std::string_view run, std::string_view more = "") {
  return "name = 'i'\n[command]\nargv = ['true']\n[[install]]\ncheck = '" + std::string(check) +
         "'\nrun = '" + std::string(run) + "'\n" + std::string(more);
}

TEST_F(Adapters, InstallThatFailsSaysWhatItSaidLast) {
  EXPECT_TRUE(
      failed(stage(*adapter(install("false", "echo first; echo last >&2; exit 7")), prepared()),
             ErrorKind::sandbox, "the install step 1 of the adapter 'i' failed (exit 7): last"));
}

TEST_F(Adapters, InstallThatEndsWellMustMeetItsCheck) {
  EXPECT_TRUE(failed(stage(*adapter(install("false", "echo done")), prepared()), ErrorKind::sandbox,
                     "ended with 0, and its check still fails: done"));
}

TEST_F(Adapters, InstallIsBoundAndLeavesNothing) {
  EXPECT_TRUE(
      failed(stage(*adapter(install("false", "sleep 1000", "timeout = '0.3s'")), prepared()),
             ErrorKind::timeout, "did not end well"));
}

TEST_F(Adapters, CheckWhoseProgramIsMissingIsNotMet) {
  const auto made = adapter(
      "name = 'c'\n[command]\nargv = ['true']\n[[install]]\n"
      "check = ['{workdir}/tool']\nrun = ['cp', '/bin/true', '{workdir}/tool']\n");
  EXPECT_TRUE(succeeded(stage(*made, prepared())));
}

TEST_F(Adapters, WhatIsWrongIsSaidBeforeAnythingIsInstalled) {
  const auto made = [&](std::string_view more) {
    return adapter(install("false", "touch " + work() + "/installed", more));
  };
  AdapterRun nowhere = prepared();
  nowhere.workdir.clear();
  EXPECT_TRUE(failed(stage(*made("[[artifacts]]\nglob = 'out'"), nowhere), ErrorKind::input,
                     "where the command runs is not known"));
  EXPECT_TRUE(failed(stage(*made("[[artifacts]]\nglob = '/a/../b'"), prepared()), ErrorKind::input,
                     "the artifact '/a/../b' must not have"));
  EXPECT_TRUE(failed(stage(*made("[params.p]"), prepared()), ErrorKind::input, "--param p=VALUE"));
  AdapterRun stray = prepared();
  stray.arguments = {"x"};
  EXPECT_TRUE(failed(stage(*made(""), stray), ErrorKind::input, "takes no words behind --"));
  EXPECT_FALSE(harness::exists(work() + "/installed"));
}

TEST_F(Adapters, FilesOfThisMachineStartAtTheAdapter) {
  fs::create_directories(path("adapters/tree/deep"));
  harness::write_file(path("adapters/tree/deep/a.txt"), "{not a placeholder}");
  const auto made =
      adapter("name = 'f'\ncommand.argv = ['true']\n[[files]]\nfrom = 'tree'\nto = 'copy'\n",
              path("adapters/f.toml"));
  EXPECT_TRUE(succeeded(stage(*made, prepared())));
  EXPECT_EQ(harness::read_file(work() + "/copy/deep/a.txt"), "{not a placeholder}");
  const auto missing =
      adapter("name = 'f'\ncommand.argv = ['true']\n[[files]]\nfrom = 'none'\nto = 'b'\n",
              path("adapters/f.toml"));
  EXPECT_TRUE(failed(stage(*missing, prepared()), ErrorKind::input, path("adapters/none")));
}

// Artifacts.

TEST_F(Adapters, ArtifactsKeepTheirPathsBehindTheWildcards) {
  fs::create_directories(work() + "/out/a/.b");
  harness::write_file(work() + "/out/a/.b/one.json", "1");
  harness::write_file(work() + "/out/two.json", "22");
  harness::write_file(work() + "/out/a/line\nbreak.json", "3");
  harness::write_file(work() + "/out/a/none.txt", "4");
  const Collected got = fetch({{.glob = work() + "/out/**/*.json", .into = "json"}});
  EXPECT_THAT(problems(got), IsEmpty());
  ASSERT_EQ(got.files.size(), 3u);
  EXPECT_EQ(fetched(got, into() + "/json/a/.b/one.json"), "1");
  EXPECT_EQ(fetched(got, into() + "/json/two.json"), "22");
  EXPECT_EQ(fetched(got, into() + "/json/a/line\nbreak.json"), "3");
  EXPECT_EQ(got.files.back().inside, work() + "/out/two.json");
  EXPECT_EQ(got.files.back().bytes, 2u);
}

TEST_F(Adapters, ArtifactWithoutWildcardsIsAFileOrAWholeTree) {
  fs::create_directories(work() + "/tree/deep");
  harness::write_file(work() + "/tree/deep/a", "12345");
  harness::write_file(work() + "/b[1]", "x");
  const Collected got =
      fetch({{.glob = work() + "/tree"}, {.glob = glob_literal(work() + "/b[1]")}});
  EXPECT_THAT(problems(got), IsEmpty());
  ASSERT_EQ(got.files.size(), 2u);
  EXPECT_EQ(got.files[0].bytes, 5u);
  EXPECT_EQ(harness::read_file(into() + "/tree/deep/a"), "12345");
  EXPECT_EQ(fetched(got, into() + "/b[1]"), "x");
}

TEST_F(Adapters, ArtifactsThatAreNotThereMatterOnlyWhereTheyMust) {
  EXPECT_THAT(problems(fetch({{.glob = work() + "/no/*.txt"}, {.glob = work() + "/none"}})),
              IsEmpty());
  const Collected got = fetch({{.glob = work() + "/*.txt", .required = true}});
  EXPECT_EQ(problems(got), "the harness left no '" + work() + "/*.txt'\n");
  EXPECT_FALSE(harness::exists(into()));
}

TEST_F(Adapters, ArtifactsStopAtTheirLimits) {
  for (const char* name : {"a", "b", "c"}) harness::write_file(work() + '/' + name, "1234567890");
  const Collected bytes = fetch({{.glob = work() + "/*", .into = "bytes", .most_bytes = 25}});
  EXPECT_EQ(bytes.files.size(), 2u);
  EXPECT_THAT(problems(bytes), HasSubstr(work() + "/c"));
  EXPECT_FALSE(harness::exists(into() + "/bytes/c"));
  const Collected files = fetch({{.glob = work() + "/*", .into = "files", .most_files = 2}});
  EXPECT_EQ(files.files.size(), 2u);
  EXPECT_THAT(problems(files), HasSubstr("names more than 2 files; raise its most_files"));
}

TEST_F(Adapters, ArtifactsOfTwoPatternsComeOnceOrNotOverEachOther) {
  fs::create_directories(work() + "/x");
  fs::create_directories(work() + "/y");
  harness::write_file(work() + "/x/a", "x");
  harness::write_file(work() + "/y/a", "y");
  const Collected once = fetch({{.glob = work() + "/x/a"}, {.glob = work() + "/x/*"}});
  EXPECT_EQ(once.files.size(), 1u);
  EXPECT_THAT(problems(once), IsEmpty());
  fs::remove_all(into());
  const Collected both = fetch({{.glob = work() + "/x/*"}, {.glob = work() + "/y/*"}});
  EXPECT_EQ(fetched(both, into() + "/a"), "x");
  EXPECT_THAT(problems(both), HasSubstr("two artifacts would be"));
  const Collected apart =
      fetch({{.glob = work() + "/x/*"}, {.glob = work() + "/y/*", .into = "y"}});
  EXPECT_EQ(fetched(apart, into() + "/y/a"), "y");
}

TEST_F(Adapters, ArtifactsAreNeverBehindALinkInside) {
  fs::create_directories(path("secret"));
  harness::write_file(path("secret/key"), "k");
  fs::create_symlink(path("secret"), work() + "/dir");
  fs::create_symlink(path("secret/key"), work() + "/key");
  const Collected got =
      fetch({{.glob = work() + "/**"}, {.glob = work() + "/key"}, {.glob = work() + "/dir"}});
  EXPECT_THAT(got.files, IsEmpty());
}

// A tree may bring links; what comes after it must not follow them.
TEST_F(Adapters, ArtifactsNeverLeaveTheirDestination) {
  fs::create_directories(path("outside"));
  fs::create_directories(work() + "/first/tree");
  fs::create_symlink(path("outside"), work() + "/first/tree/out");
  fs::create_directories(work() + "/second/tree/out");
  harness::write_file(work() + "/second/tree/out/x", "x");
  const Collected got = fetch({{.glob = work() + "/first/tree"}, {.glob = work() + "/second/**"}});
  EXPECT_TRUE(fs::is_symlink(into() + "/tree/out"));
  EXPECT_FALSE(harness::exists(path("outside/x")));
  EXPECT_THAT(problems(got), HasSubstr("/tree/out' is a symbolic link"));
}

// A sandbox that lists what it likes.
class LyingSandbox final : public Sandbox {
 public:
  [[nodiscard]] std::string name() const override { return "lying"; }
  [[nodiscard]] const Traits& traits() const override { return traits_; }
  asio::awaitable<ExecResult> exec(ExecRequest) override {
    ExecResult result{.out = listing, .return_code = code};
    co_return result;
  }
  asio::awaitable<Expected<void>> upload(std::string, std::string, TransferOptions) override {
    co_return Expected<void>{};
  }
  asio::awaitable<Expected<void>> download(std::string inside, std::string local,
                                           TransferOptions) override {
    downloads.push_back(inside + " -> " + local);
    co_return Expected<void>{};
  }
  asio::awaitable<Expected<SandboxStatus>> status() override { co_return SandboxStatus::running; }
  asio::awaitable<Expected<void>> stop() override { co_return Expected<void>{}; }
  asio::awaitable<Expected<void>> disconnect() override { co_return Expected<void>{}; }

  std::string listing;
  int code = 0;
  Words downloads;

 private:
  Traits traits_;
};

TEST_F(Adapters, ListingThatLiesLeadsNowhere) {
  using namespace std::string_literals;
  LyingSandbox lying;
  lying.listing =
      "/w/../../etc/cron.d/x\0/w//x\0/w/a/../../x\0relative\0/etc/passwd\0/w/..\0/w/\0\0/w/good\0"s;
  (void)run(fetch_artifacts(lying, {Artifact{.glob = "/w/**"}}, "dest"));
  EXPECT_THAT(lying.downloads, ElementsAre("/w/good -> dest/good"));
}

TEST_F(Adapters, SandboxWithoutFindStillGivesPlainPaths) {
  LyingSandbox bare;
  bare.code = 127;
  const Collected plain = run(fetch_artifacts(bare, {Artifact{.glob = "/w/a"}}, "dest"));
  EXPECT_THAT(bare.downloads, ElementsAre("/w/a -> dest/a"));
  EXPECT_THAT(problems(plain), IsEmpty());
  const Collected any = run(fetch_artifacts(bare, {Artifact{.glob = "/w/*"}}, "dest"));
  EXPECT_EQ(problems(any),
            "cannot look for artifacts below '/w': the sandbox has no find; name the artifact "
            "without wildcards\n");
}

// Results.

TEST_F(Adapters, ResultIsReadFromTheEndOfALongLog) {
  const auto made = adapter(
      "name = 'r'\n[command]\n"
      "argv = ['sh', '-c', 'seq 100000; echo \"{{\\\"v\\\": 1}}\"; echo \"{{\\\"v\\\": 2}}\"; echo "
      "x']\n"
      "[result]\nread = 'jsonl'\nvalue = '/v'\nmost_bytes = 100\n");
  const Ran ran = session_of(*made, prepared());
  ASSERT_TRUE(succeeded(ran.result));
  EXPECT_EQ(ran.result->json, "2");
  EXPECT_EQ(ran.collected.result_bytes->size(), 100u);
}

TEST_F(Adapters, ResultThatIsMissingOrTooLargeSaysSo) {
  const auto made = [&](std::string_view command) {
    return adapter("name = 'r'\n[command]\nargv = ['sh', '-c', '" + std::string(command) +
                   "']\n[result]\nread = 'json'\nfile = 'r.json'\nmost_bytes = 10\n");
  };
  const Ran missing = session_of(*made("true"), prepared());
  EXPECT_TRUE(succeeded(missing.executed));
  EXPECT_TRUE(failed(missing.result, ErrorKind::sandbox, work() + "/r.json"));
  const Ran large = session_of(*made("echo 12345678901 >r.json"), prepared());
  EXPECT_TRUE(failed(large.result, ErrorKind::sandbox, "10"));
  const Ran fits = session_of(*made("echo 123456789 >r.json"), prepared());
  EXPECT_EQ(fits.result->json, "123456789");
}

TEST_F(Adapters, FileThatCannotBeReadIsAnError) {
  EXPECT_TRUE(failed(load_adapter(path("none.toml")), ErrorKind::input, "cannot read '"));
  EXPECT_TRUE(failed(load_adapter(work()), ErrorKind::input, "cannot read '"));
  harness::write_file(path("large.toml"), std::string((1 << 20) + 1, '#'));
  EXPECT_TRUE(
      failed(load_adapter(path("large.toml")), ErrorKind::input, "more than 1048576 bytes"));
  harness::write_file(path("wrong.toml"), "name = 3\n");
  EXPECT_TRUE(failed(load_adapter(path("wrong.toml")), ErrorKind::input,
                     path("wrong.toml") + ":1: name = 3: must be a text in quotes"));
}

}  // namespace
}  // namespace adapter_tests
