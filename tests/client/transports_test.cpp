// Every transport by its words: what would be started, without the tool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/scene.hpp"
#include "client/transports/common.hpp"

namespace client_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const InsideCommand kPlain{.argv = {"prog", "a b", "$x"}};
const InsideCommand kFull{.argv = {"prog", "it's"},
                          .cwd = "/w d",
                          .environment = {{"A", "1"}, {"B", "x y"}},
                          .reads_stdin = true};

std::unique_ptr<Transport> transport(std::string_view name, TransportOptions options = {}) {
  options.token = "TOKEN";
  auto made = transport_from_name(name, options);
  if (!made) throw std::runtime_error(made.error().text());
  return std::move(*made);
}

Words words(std::string_view name, const InsideCommand& command,
            const TransportOptions& options = {}) {
  const auto host = transport(name, options)->exec(command);
  if (!host) throw std::runtime_error(host.error().text());
  return host->argv;
}

ClientEnd ended(int code, std::string_view out = {}, std::string_view err = {}) {
  return {.code = code, .out = out, .err = err};
}

TEST(TransportNames, AreReadAndSaidAgain) {
  for (const char* name :
       {"local", "docker:web", "podman:web", "docker-image:debian:12", "podman-image:q:1",
        "ssh:host", "ssh:me@host:2222", "ssh:::1", "bwrap:/root", "slurm:123", "slurm:123_4",
        "slurm-new", "slurm-new:-p all", "kube:ns/pod", "kube:ns/pod/box", "apptainer:inst",
        "apptainer:/x.sif"}) {
    const auto made = transport_from_name(name);
    ASSERT_TRUE(succeeded(made)) << name;
    EXPECT_EQ((*made)->name(), name);
  }
  EXPECT_EQ((*transport_from_name("ssh://me@host:2222/"))->name(), "ssh:me@host:2222");
}

TEST(TransportNames, ThatAreWrongSayWhatIsRight) {
  for (const char* name : {"", "locals", "local:x", "podman", "podman:", "podman:-rm", "ssh:",
                           "ssh:-oProxyCommand=x", "ssh:host:0", "ssh:host:x", "ssh:a:70000",
                           "slurm:abc", "kube:pod", "kube:ns/", "kube:a/b/c/d", "kube:ns/-pod"}) {
    const auto made = transport_from_name(name);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().kind, ErrorKind::input) << name;
    EXPECT_THAT(made.error().text(), HasSubstr(name)) << name;
    EXPECT_FALSE(made.error().advice.empty() && made.error().message.empty()) << name;
  }
  EXPECT_THAT(transport_from_name("nope").error().text(), HasSubstr("podman-image:IMAGE"));
  EXPECT_TRUE(failed(transport_from_name("template:/nonexistent.toml"), ErrorKind::input,
                     "template '/nonexistent.toml'"));
}

TEST(LocalTransport, IsTheCommandItself) {
  const auto local = transport("local");
  EXPECT_EQ(*local->exec(kFull), (HostCommand{kFull.argv, kFull.cwd, kFull.environment}));
  EXPECT_TRUE(local->traits().shares_files);
  EXPECT_TRUE(local->traits().passes_stdin_end);
  EXPECT_TRUE(failed(local->exec({.argv = {"x"}, .user = "nobody"}), ErrorKind::input));
}

TEST(ContainerTransport, Golden) {
  EXPECT_THAT(words("podman:web", kPlain),
              ElementsAre("podman", "exec", "web", "prog", "a b", "$x"));
  EXPECT_THAT(words("docker:web", kFull), ElementsAre("docker", "exec", "-i", "-w", "/w d", "-e",
                                                      "A=1", "-e", "B=x y", "web", "prog", "it's"));
  EXPECT_THAT(words("docker:web", {.argv = {"id"}, .user = "10:20"}),
              ElementsAre("docker", "exec", "-u", "10:20", "web", "id"));
  const TransportOptions custom{.programs = {{"podman", {"podman", "--runtime", "runc"}}}};
  EXPECT_THAT(words("podman:web", {.argv = {"id"}}, custom),
              ElementsAre("podman", "--runtime", "runc", "exec", "web", "id"));
  const auto podman = transport("podman:web");
  EXPECT_THAT(podman->stop()->argv, ElementsAre("podman", "rm", "-f", "-t", "0", "web"));
  EXPECT_THAT(transport("docker:web")->stop()->argv, ElementsAre("docker", "rm", "-f", "web"));
  EXPECT_THAT(podman->copy_in("/a", "/b")->argv, ElementsAre("podman", "cp", "/a", "web:/b"));
  EXPECT_THAT(podman->copy_out("/b", "/a")->argv, ElementsAre("podman", "cp", "web:/b", "/a"));
  EXPECT_THAT(podman->status()->argv, ElementsAre("podman", "container", "inspect", "--format",
                                                  "{{.State.Status}}", "web"));
  EXPECT_FALSE(podman->traits().exit_code_is_the_commands) << "a client that gets TERM says 0";
  EXPECT_TRUE(podman->traits().passes_stdin_end);
}

TEST(ContainerTransport, MakesOneOfAnImage) {
  TransportOptions options;
  options.create_arguments = {"--network=none"};
  const auto maker = transport("podman-image:q:1", options);
  EXPECT_TRUE(maker->creates());
  EXPECT_THAT(maker->create("/p/quietus")->argv,
              ElementsAre("podman", "run", "-d", "--name", "quietus-TOKEN", "--network=none",
                          "--mount", "type=bind,src=/p/quietus,dst=/.quietus/quietus,readonly",
                          "--entrypoint", "/.quietus/quietus", "q:1", "wait", "--session", "/"));
  EXPECT_THAT(maker->stop()->argv, ElementsAre("podman", "rm", "-f", "-t", "0", "quietus-TOKEN"));
  EXPECT_TRUE(failed(maker->create("/a,b"), ErrorKind::input, "comma"));
  const auto made = maker->created(ended(0, "abc\n"));
  ASSERT_TRUE(succeeded(made));
  EXPECT_EQ((*made)->name(), "podman:quietus-TOKEN");
  EXPECT_EQ((*made)->traits().payload, "/.quietus/quietus");
  EXPECT_TRUE(failed(maker->created(ended(125, "", "Error: no such image\n")), ErrorKind::sandbox,
                     "Error: no such image"));
  EXPECT_TRUE(failed(maker->created(ended(125, "", "Trying to pull x...\nError: refused\nbye\n")),
                     ErrorKind::sandbox, "': Error: refused"));
  EXPECT_TRUE(
      failed(maker->created(ended(125, "", "\none\n\ntwo\n")), ErrorKind::sandbox, ": two"));
}

TEST(ContainerTransport, KnowsItsOwnFailures) {
  const auto podman = transport("podman:web");
  EXPECT_TRUE(is_error(*podman->failure(ended(125, "", "Error: no such container web\n")),
                       ErrorKind::sandbox, "no such container"));
  EXPECT_FALSE(podman->failure(ended(125, "", "my own message\n"))) << "a command may say 125 too";
  EXPECT_FALSE(podman->failure(ended(127)));
  EXPECT_EQ(podman->read_status(ended(0, "running\n")), SandboxStatus::running);
  EXPECT_EQ(podman->read_status(ended(0, "exited\n")), SandboxStatus::stopped);
  EXPECT_EQ(podman->read_status(ended(0, "created\n")), SandboxStatus::starting);
  EXPECT_EQ(podman->read_status(ended(125, "", "Error: no such container web\n")),
            SandboxStatus::absent);
  EXPECT_EQ(podman->read_status(ended(125, "", "Error: cannot connect\n")), SandboxStatus::unknown);
}

TEST(SshTransport, Golden) {
  EXPECT_THAT(words("ssh:me@host:2222", kPlain),
              ElementsAre("ssh", "-T", "-o", "BatchMode=yes", "-o", "ControlMaster=auto", "-o",
                          "ControlPath=/tmp/quietus-ssh-TOKEN", "-o", "ControlPersist=60", "-p",
                          "2222", "-n", "me@host", "exec prog 'a b' '$x'"));
  EXPECT_THAT(words("ssh:host", kFull).back(),
              "cd '/w d' && exec env 'A=1' 'B=x y' prog 'it'\\''s'");
  const auto ssh = transport("ssh:host");
  EXPECT_THAT(ssh->disconnect()->argv,
              ElementsAre("ssh", "-T", "-o", "BatchMode=yes", "-o", "ControlMaster=auto", "-o",
                          "ControlPath=/tmp/quietus-ssh-TOKEN", "-o", "ControlPersist=60", "-O",
                          "exit", "host"));
  EXPECT_TRUE(is_error(*ssh->failure(ended(255, "", "ssh: connect to host x\n")),
                       ErrorKind::transport, "ssh: connect to host x"));
  EXPECT_FALSE(ssh->failure(ended(1)));
  EXPECT_TRUE(failed(ssh->exec({.argv = {"x"}, .user = "u"}), ErrorKind::input, "USER@HOST"));
}

TEST(BwrapTransport, Golden) {
  TransportOptions options;
  options.create_arguments = {"--unshare-net"};
  EXPECT_THAT(words("bwrap:/r", kFull, options),
              ElementsAre("bwrap", "--bind", "/r", "/", "--dev", "/dev", "--proc", "/proc",
                          "--unshare-pid", "--die-with-parent", "--unshare-net", "--chdir", "/w d",
                          "--setenv", "A", "1", "--setenv", "B", "x y", "--", "prog", "it's"));
  const auto bwrap = transport("bwrap:/r");
  EXPECT_EQ(bwrap->host_root(), "/r");
  EXPECT_TRUE(bwrap->failure(ended(1, "", "bwrap: Can't bind mount /r: No such file\n")));
  EXPECT_FALSE(bwrap->failure(ended(1, "", "bwrap: execvp prog: No such file\n")));
  EXPECT_FALSE(bwrap->failure(ended(1, "", "the command's own\n")));
}

TEST(SlurmTransport, Golden) {
  EXPECT_THAT(
      words("slurm:12", kPlain),
      ElementsAre("srun", "--overlap", "--jobid=12", "--nodes=1", "--ntasks=1", "--relative=0",
                  "--quiet", "--input=none", "--chdir=/", "prog", "a b", "$x"));
  EXPECT_THAT(
      words("slurm:12", kFull),
      ElementsAre("srun", "--overlap", "--jobid=12", "--nodes=1", "--ntasks=1", "--relative=0",
                  "--quiet", "--input=0", "--chdir=/w d", "env", "A=1", "B=x y", "prog", "it's"));
  const auto slurm = transport("slurm:12");
  EXPECT_THAT(slurm->stop()->argv, ElementsAre("scancel", "12"));
  EXPECT_EQ(slurm->read_status(ended(0, "RUNNING\n")), SandboxStatus::running);
  EXPECT_EQ(slurm->read_status(ended(0, "COMPLETING\n")), SandboxStatus::running);
  EXPECT_EQ(slurm->read_status(ended(0, "")), SandboxStatus::stopped);
  EXPECT_EQ(slurm->read_status(ended(1, "", "slurm_load_jobs error: Invalid job id specified\n")),
            SandboxStatus::absent);
  EXPECT_FALSE(slurm->failure(ended(7, "", "srun: error: n1: task 0: Exited with exit code 7\n")));
  EXPECT_TRUE(slurm->failure(ended(1, "", "srun: error: Unable to confirm allocation\n")));
}

TEST(SlurmTransport, MakesAnAllocation) {
  TransportOptions options;
  options.create_arguments = {"--exclusive"};
  const auto maker = transport("slurm-new:-p all  -n 1", options);
  EXPECT_THAT(maker->create("")->argv, ElementsAre("salloc", "--no-shell", "--job-name=quietus",
                                                   "--exclusive", "-p", "all", "-n", "1"));
  const auto made = maker->created(
      ended(0, "", "salloc: Pending job allocation 9\nsalloc: Granted job allocation 93\n"));
  ASSERT_TRUE(succeeded(made));
  EXPECT_EQ((*made)->name(), "slurm:93");
  EXPECT_TRUE(failed(maker->created(ended(1, "", "salloc: error: no\n")), ErrorKind::sandbox));
}

TEST(KubeTransport, Golden) {
  EXPECT_THAT(words("kube:ns/pod", kPlain),
              ElementsAre("kubectl", "exec", "-n", "ns", "pod", "--", "prog", "a b", "$x"));
  EXPECT_THAT(words("kube:ns/pod/box", kFull),
              ElementsAre("kubectl", "exec", "-i", "-n", "ns", "pod", "-c", "box", "--", "sh", "-c",
                          R"(cd -- "$1" && shift && exec "$@")", "sh", "/w d", "env", "A=1",
                          "B=x y", "prog", "it's"));
  const auto kube = transport("kube:ns/pod");
  EXPECT_FALSE(kube->traits().passes_stdin_end);
  EXPECT_FALSE(kube->failure(ended(3, "", "command terminated with exit code 3\n")));
  EXPECT_EQ(kube->failure(ended(1, "", "Error from server (NotFound): pods\n"))->kind,
            ErrorKind::sandbox);
  EXPECT_EQ(kube->failure(ended(1, "", "error: lost connection to pod\n"))->kind,
            ErrorKind::transport);
  EXPECT_THAT(kube->stop()->argv, ElementsAre("kubectl", "delete", "pod", "-n", "ns", "pod",
                                              "--grace-period=1", "--wait=true"));
  EXPECT_EQ(kube->read_status(ended(0, "Running")), SandboxStatus::running);
  EXPECT_EQ(kube->read_status(ended(1, "", "Error from server (NotFound): x\n")),
            SandboxStatus::absent);
}

TEST(ApptainerTransport, Golden) {
  EXPECT_THAT(words("apptainer:inst", kFull),
              ElementsAre("apptainer", "--silent", "exec", "--pwd", "/w d", "--env", "A=1", "--env",
                          "B=x y", "instance://inst", "prog", "it's"));
  TransportOptions options;
  options.create_arguments = {"--containall"};
  EXPECT_THAT(words("apptainer:/x.sif", kPlain, options),
              ElementsAre("apptainer", "--silent", "exec", "--containall", "--pwd", "/", "/x.sif",
                          "prog", "a b", "$x"));
  const auto instance = transport("apptainer:inst");
  EXPECT_EQ(instance->read_status(ended(0, "INSTANCE NAME    PID\ninst    77    /x.sif\n")),
            SandboxStatus::running);
  EXPECT_EQ(instance->read_status(ended(0, "INSTANCE NAME    PID\n")), SandboxStatus::absent);
  EXPECT_THAT(instance->stop()->argv, ElementsAre("apptainer", "instance", "stop", "inst"));
  EXPECT_FALSE(transport("apptainer:/x.sif")->stop());
}

class TemplateTransport : public testing::Test {
 protected:
  std::unique_ptr<Transport> with(std::string_view text) {
    harness::write_file(file(), text);
    return transport("template:" + file());
  }
  Error refusal(std::string_view text) {
    harness::write_file(file(), text);
    auto made = transport_from_name("template:" + file());
    return made ? Error{} : made.error();
  }
  [[nodiscard]] std::string file() const { return scratch_.path("t.toml"); }

 private:
  harness::Scratch scratch_;
};

TEST_F(TemplateTransport, PutsTheCommandWhereItIsTold) {
  const auto plain = with(R"(exec = ["my", "exec", "box", "--", "{argv}"])");
  EXPECT_THAT(plain->exec(kPlain)->argv,
              ElementsAre("my", "exec", "box", "--", "prog", "a b", "$x"));
  EXPECT_THAT(plain->exec(kFull)->argv, ElementsAre("my", "exec", "box", "--", "sh", "-c",
                                                    R"(cd -- "$1" && shift && exec "$@")", "sh",
                                                    "/w d", "env", "A=1", "B=x y", "prog", "it's"));
  EXPECT_FALSE(plain->traits().passes_stdin_end) << "nothing is trusted unless it is said";
  EXPECT_FALSE(plain->stop());
}

TEST_F(TemplateTransport, FillsEachPlaceholderOnce) {
  const auto made = with(R"(
    exec = ["my", "--dir={cwd}", "--env={env}", "--user={user}", "{argv}"]
    copy_in = ["my", "push", "{local}", "box:{inside}"]
    copy_out = ["my", "pull", "box:{inside}", "{local}"]
    stop = ["my", "rm"]
    client_failed = [200]
    [traits]
    stdin_end = true
    exit_code = true
  )");
  const InsideCommand tricky{
      .argv = {"p", "{cwd}"}, .cwd = "{argv}", .environment = {{"A", "{user}"}}, .user = "u"};
  EXPECT_THAT(made->exec(tricky)->argv,
              ElementsAre("my", "--dir={argv}", "--env=A={user}", "--user=u", "p", "{cwd}"));
  EXPECT_THAT(made->exec(kPlain)->argv, ElementsAre("my", "prog", "a b", "$x"));
  EXPECT_THAT(made->copy_in("{inside}", "/b")->argv,
              ElementsAre("my", "push", "{inside}", "box:/b"));
  EXPECT_THAT(made->copy_out("/b", "/a")->argv, ElementsAre("my", "pull", "box:/b", "/a"));
  EXPECT_THAT(made->stop()->argv, ElementsAre("my", "rm"));
  EXPECT_TRUE(made->traits().passes_stdin_end);
  EXPECT_TRUE(made->traits().exit_code_is_the_commands);
  EXPECT_EQ(made->failure(ended(200, "", "gone\n"))->kind, ErrorKind::transport);
  EXPECT_FALSE(made->failure(ended(1)));
}

TEST_F(TemplateTransport, QuotesForAShellThatReadsOneLine) {
  const auto made = with("exec = [\"rsh\", \"box\", \"exec {argv}\"]\nquoting = \"shell\"");
  EXPECT_THAT(made->exec(kPlain)->argv, ElementsAre("rsh", "box", "exec prog 'a b' '$x'"));
}

TEST_F(TemplateTransport, IsAsTheManualShowsIt) {
  const std::string page = harness::read_file(QUIETUS_CONTROLLER_PAGE);
  const std::size_t begin = page.find("```toml\n") + 8;
  const auto shown = with(page.substr(begin, page.find("```", begin) - begin));
  EXPECT_THAT(shown->exec({.argv = {"a b"}, .environment = {{"A", "1"}, {"B", "2"}}})->argv,
              ElementsAre("mycli", "exec", "--env=A=1", "--env=B=2", "web-1", "--", "'a b'"));
  EXPECT_THAT(shown->copy_in("/l", "/i")->argv, ElementsAre("mycli", "push", "/l", "web-1:/i"));
  EXPECT_TRUE(shown->traits().passes_stdin_end);
  EXPECT_TRUE(shown->failure(ended(255)));
}

TEST_F(TemplateTransport, ThatIsWrongSaysWhere) {
  EXPECT_TRUE(is_error(refusal("exec = ["), ErrorKind::input, file()));
  EXPECT_TRUE(is_error(refusal(""), ErrorKind::input, "'exec' must hold a word with {argv}"));
  EXPECT_TRUE(
      is_error(refusal("exec = \"x {argv}\""), ErrorKind::input, "must be a list of words"));
  EXPECT_TRUE(is_error(refusal("exec = [\"{argv}\", 1]"), ErrorKind::input, "list of words"));
  EXPECT_TRUE(is_error(refusal("exec = [\"{argv}\"]\nexce = [\"x\"]"), ErrorKind::input,
                       "'exce' is not a key of a template"));
  EXPECT_TRUE(is_error(refusal("exec = [\"x{argv}\"]"), ErrorKind::input, "a word of its own"));
  // What is left out where there is no user must not take the command with it.
  for (const char* word : {"{user} {argv}", "{argv}{cwd}", "{env}; {argv}"}) {
    EXPECT_TRUE(
        is_error(refusal("exec = [\"x\", \"" + std::string(word) + "\"]\nquoting = \"shell\""),
                 ErrorKind::input, "{argv} must not stand in one word with"));
  }
  for (const char* first : {"", "{user}", "{env}x", "{cwd}"}) {
    EXPECT_TRUE(is_error(refusal("exec = [\"" + std::string(first) + "\", \"{argv}\"]"),
                         ErrorKind::input, "'exec' must begin with a program"));
  }
  EXPECT_TRUE(is_error(refusal("exec = [\"{argv}\"]\nstop = [\"\"]"), ErrorKind::input,
                       "'stop' must begin with a program"));
  EXPECT_TRUE(is_error(refusal("exec = [\"{argv}\"]\n[traits]\nstdin = 1"), ErrorKind::input,
                       "must be true or false"));
  EXPECT_TRUE(is_error(refusal("exec = [\"{argv}\"]\nquoting = \"x\""), ErrorKind::input,
                       "must be words or shell"));
}

}  // namespace
}  // namespace client_tests
