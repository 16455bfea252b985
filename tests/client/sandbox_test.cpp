// exec over the real spawner: what a command's end means on each kind of way.
#include <gtest/gtest.h>

#include <filesystem>

#include "client/scene.hpp"

namespace client_tests {
namespace {

class Execs : public Scene {
 protected:
  std::shared_ptr<Sandbox> sandbox(std::string_view text = {}) {
    std::string name = "local";
    if (!text.empty()) {
      harness::write_file(path("template.toml"), text);
      name = "template:" + path("template.toml");
    }
    auto made = transport_from_name(name);
    if (!made) throw std::runtime_error(made.error().text());
    return sandbox_over(std::move(*made));
  }
  ExecResult exec(Sandbox& in, ExecRequest request) { return run(in.exec(std::move(request))); }
};

TEST_F(Execs, TakeWordsOrTextForAShell) {
  const auto local = sandbox();
  const ExecResult words = exec(*local, {.argv = {"printf", "%s|", "a b", "$x"}});
  EXPECT_EQ(words.out, "a b|$x|");
  EXPECT_TRUE(words.succeeded());
  const ExecResult text = exec(*local, {.shell = "echo $((1 + 2)); exit 4"});
  EXPECT_EQ(text.out, "3\n");
  EXPECT_EQ(text.return_code, 4);
  EXPECT_FALSE(text.error);
  EXPECT_TRUE(is_error(*exec(*local, {}).error, ErrorKind::input));
  EXPECT_TRUE(is_error(*exec(*local, {.argv = {"a"}, .shell = "b"}).error, ErrorKind::input));
  EXPECT_TRUE(is_error(*exec(*local, {.argv = {"a"}, .environment = {{"A=B", "c"}}}).error,
                       ErrorKind::input, "'A=B' is no name of a variable"));
}

TEST_F(Execs, OfWhatIsNotThereEndAsInAShell) {
  const auto local = sandbox();
  const ExecResult missing = exec(*local, {.argv = {"/nonexistent"}});
  EXPECT_FALSE(missing.error);
  EXPECT_EQ(missing.return_code, 127);
  EXPECT_EQ(exec(*local, {.argv = {"/etc/passwd"}}).return_code, 126);
}

TEST_F(Execs, ThroughAToolThatIsNotThereAreTransportErrors) {
  const auto broken = sandbox(R"(exec = ["/nonexistent/tool", "{argv}"])");
  const ExecResult result = exec(*broken, {.argv = {"true"}});
  ASSERT_TRUE(result.error);
  EXPECT_TRUE(is_error(*result.error, ErrorKind::transport, "/nonexistent/tool"));
  EXPECT_EQ(result.return_code, std::nullopt);
}

TEST_F(Execs, WhoseClientIsKilledHaveNoCode) {
  const auto through = sandbox(R"(exec = ["sh", "-c", "kill -9 $$", "sh", "{argv}"])");
  const ExecResult result = exec(*through, {.argv = {"true"}});
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->kind, ErrorKind::transport);
  EXPECT_EQ(result.return_code, std::nullopt);
}

TEST_F(Execs, GiveWhatCameBeforeTheDeadline) {
  const auto local = sandbox();
  const ExecResult result = exec(*local, {.shell = "echo early; sleep 1000", .deadline = 500ms});
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->kind, ErrorKind::timeout);
  EXPECT_EQ(result.out, "early\n");
  EXPECT_EQ(result.return_code, std::nullopt);
}

TEST_F(Execs, CanBeCancelledWithoutAnException) {
  const auto local = sandbox();
  ExecRequest request{.argv = {"sleep", "1000"}};
  const auto pending = start(local->exec(std::move(request)));
  turn();
  pending->cancel();
  ASSERT_TRUE(until([&] { return pending->done(); }));
  ASSERT_FALSE(pending->threw());
  EXPECT_EQ(pending->result().error->kind, ErrorKind::cancelled);
}

TEST_F(Execs, SetDirectoryAndEnvironmentEverywhere) {
  for (const char* text : {"", R"(exec = ["{argv}"])",
                           "exec = [\"sh\", \"-c\", \"exec {argv}\"]\nquoting = \"shell\""}) {
    const auto way = sandbox(text);
    const ExecResult result = exec(*way, {.shell = "pwd; echo \"$A\"",
                                          .cwd = "/usr",
                                          .environment = {{"A", "it's $x"}},
                                          .input = Input::text("unread")});
    EXPECT_EQ(result.out, "/usr\nit's $x\n") << text << result.err;
  }
}

TEST_F(Execs, TellOutputWhileItComes) {
  const auto local = sandbox();
  std::string seen;
  ExecRequest request{.shell = "echo one; read x; echo two", .input = Input::held()};
  request.on_output = [&](OutputStream, std::string_view bytes) { seen += bytes; };
  const auto pending = start(local->exec(std::move(request)));
  ASSERT_TRUE(until([&] { return seen == "one\n"; }));
  EXPECT_FALSE(pending->done());
  pending->cancel();
  ASSERT_TRUE(until([&] { return pending->done(); }));
}

TEST_F(Execs, StopAndStatusAreTheTransports) {
  const std::string flag = path("lives");
  harness::write_file(flag, "");
  const auto box = sandbox("exec = [\"{argv}\"]\nstatus = [\"test\", \"-e\", \"" + flag +
                           "\"]\nstop = [\"rm\", \"-f\", \"" + flag + "\"]");
  EXPECT_EQ(*run(box->status()), SandboxStatus::running);
  ASSERT_TRUE(succeeded(run(box->stop())));
  EXPECT_FALSE(harness::exists(flag));
  EXPECT_EQ(*run(box->status()), SandboxStatus::stopped);
  EXPECT_TRUE(succeeded(run(box->stop()))) << "it may be repeated";
  EXPECT_TRUE(succeeded(run(box->disconnect())));
}

// Some runtimes only take note of the wish.
TEST_F(Execs, AStopIsOverWhenTheSandboxIsGone) {
  const std::string flag = path("lives");
  harness::write_file(flag, "");
  const auto box = sandbox("exec = [\"{argv}\"]\nstatus = [\"test\", \"-e\", \"" + flag +
                           "\"]\nstop = [\"sh\", \"-c\", \"(sleep 0.3; rm -f " + flag +
                           ") >/dev/null 2>&1 &\"]");
  ASSERT_TRUE(succeeded(run(box->stop())));
  EXPECT_FALSE(harness::exists(flag));
}

TEST_F(Execs, AStopThatFailsSaysSoEachTime) {
  const auto box = sandbox("exec = [\"{argv}\"]\nstop = [\"sh\", \"-c\", \"echo no >&2; exit 1\"]");
  EXPECT_TRUE(failed(run(box->stop()), ErrorKind::sandbox, "no"));
  EXPECT_TRUE(failed(run(box->stop()), ErrorKind::sandbox, "no"));
}

TEST_F(Execs, OpenLooksWhetherItRuns) {
  harness::write_file(path("t.toml"), "exec = [\"{argv}\"]\nstatus = [\"false\"]");
  EXPECT_TRUE(failed(run(open_sandbox("template:" + path("t.toml"), "", {})), ErrorKind::sandbox,
                     "does not run: it is stopped"));
  EXPECT_TRUE(failed(run(open_sandbox("nope", "", {})), ErrorKind::input));
  const auto opened = run(open_sandbox("local", "", {}));
  ASSERT_TRUE(succeeded(opened));
  EXPECT_EQ(opened->ownership, Ownership::borrowed);
}

// What was made and cannot be used does not stay.
TEST_F(Execs, OpenUnmakesWhatItMade) {
  // A podman that makes, and then does not run.
  const std::string log = path("log");
  harness::write_file(path("podman"), "#!/bin/sh\necho \"$*\" >>" + log +
                                          "\ncase $1 in container) echo exited;; esac\n");
  std::filesystem::permissions(path("podman"), std::filesystem::perms::owner_all);
  TransportOptions options;
  options.programs["podman"] = {path("podman")};
  options.token = "t";
  EXPECT_TRUE(failed(run(open_sandbox("podman-image:x", "/bin/true", options)), ErrorKind::sandbox,
                     "does not run"));
  const std::string said = harness::read_file(log);
  EXPECT_NE(said.find("run -d --name quietus-t"), std::string::npos) << said;
  EXPECT_NE(said.find("rm -f -t 0 quietus-t"), std::string::npos) << said;
}

TEST_F(Execs, OpenThatIsCancelledUnmakesWhatItMayHaveMade) {
  const std::string log = path("log");
  harness::write_file(path("podman"), "#!/bin/sh\necho \"$*\" >>" + log +
                                          "\ncase $1 in run) exec sleep 1000;; esac\n");
  std::filesystem::permissions(path("podman"), std::filesystem::perms::owner_all);
  TransportOptions options;
  options.programs["podman"] = {path("podman")};
  options.token = "t";
  const auto opening = start(open_sandbox("podman-image:x", "/bin/true", options));
  ASSERT_TRUE(until([&] { return harness::read_file(log).find("run -d") != std::string::npos; }));
  opening->cancel();
  ASSERT_TRUE(until([&] { return opening->done(); }));
  EXPECT_TRUE(failed(opening->result(), ErrorKind::cancelled));
  EXPECT_NE(harness::read_file(log).find("rm -f -t 0 quietus-t"), std::string::npos);
}

}  // namespace
}  // namespace client_tests
