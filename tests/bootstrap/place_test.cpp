// What is placed in real sandboxes: each kind of place, with the supervisor and with a tool. Where
// it cannot run, the error has to say why.
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "bootstrap/children.hpp"
#include "bootstrap/roots.hpp"
#include "bootstrap/scene.hpp"
#include "harness/features.hpp"

namespace bootstrap_tests {
namespace {

namespace fs = std::filesystem;

// Before a real sandbox: counts, and changes what is asked for.
class Counted final : public Sandbox {
 public:
  explicit Counted(std::shared_ptr<Sandbox> inner)
      : traits_seen(inner->traits()), inner_(std::move(inner)) {}

  Traits traits_seen;
  int execs = 0;
  int uploads = 0;
  std::uint64_t bytes = 0;
  // It can do nothing but run commands.
  bool refuses_files = false;
  std::function<void(ExecRequest&)> on_exec;
  std::function<void(ExecResult&)> afterwards;

  [[nodiscard]] std::string name() const override { return inner_->name(); }
  [[nodiscard]] const Traits& traits() const override { return traits_seen; }
  asio::awaitable<ExecResult> exec(ExecRequest request) override {
    ++execs;
    if (request.input.kind == Input::Kind::file) bytes += fs::file_size(request.input.value);
    if (request.input.kind == Input::Kind::text) bytes += request.input.value.size();
    if (on_exec) on_exec(request);
    ExecResult result = co_await inner_->exec(std::move(request));
    if (afterwards) afterwards(result);
    co_return result;
  }
  asio::awaitable<Expected<void>> upload(std::string local, std::string inside,
                                         TransferOptions options) override {
    ++uploads;
    if (refuses_files) co_return fail(ErrorKind::sandbox, "files cannot be copied");
    bytes += fs::file_size(local);
    co_return co_await inner_->upload(std::move(local), std::move(inside), options);
  }
  asio::awaitable<Expected<void>> download(std::string inside, std::string local,
                                           TransferOptions options) override {
    co_return co_await inner_->download(std::move(inside), std::move(local), options);
  }
  asio::awaitable<Expected<SandboxStatus>> status() override {
    co_return co_await inner_->status();
  }
  asio::awaitable<Expected<void>> stop() override { co_return co_await inner_->stop(); }
  asio::awaitable<Expected<void>> disconnect() override { co_return co_await inner_->disconnect(); }

 private:
  std::shared_ptr<Sandbox> inner_;
};

class Placing : public Scene {
 protected:
  Placing() {
    // A folder as an installation has it: both builds, and the list of their digests.
    install_ = path("install");
    fs::create_directories(install_);
    std::string sums;
    for (const char* machine : {"x86_64", "aarch64"}) {
      const std::string name = std::string("quietus-") + machine;
      fs::copy_file(musl_build(machine), install_ + '/' + name);
      sums += sha256_of_text(harness::read_file(musl_build(machine))) + "  " + name + '\n';
    }
    harness::write_file(install_ + "/SHA256SUMS", sums);
    harness::write_file(install_ + "/quietusctl", "");
    search_.executable = install_ + "/quietusctl";
    auto found = find_supervisors(search_);
    EXPECT_TRUE(succeeded(found));
    if (found) options_.supervisors = std::move(*found);
    options_.directories = {"/tmp", "/var/tmp", "/opt"};
    options_.fetch.cache = cache();
    // The tool is a release of its own: archives for both machines.
    tool_ = {.name = "tool", .version = "1.0", .check = {"--version"}, .expect = "quietus "};
    for (const char* machine : {"x86_64", "aarch64"}) {
      const std::string archive = make_archive(
          {{.path = "tool-1.0/bin/tool", .content = harness::read_file(musl_build(machine))}});
      const std::string target = std::string("/tool-") + machine + ".tar.gz";
      server_.serve(target, archive);
      tool_.targets.push_back({.machine = machine,
                               .url = server_.url(target),
                               .sha256 = sha256_of_text(archive),
                               .member = "tool-1.0/bin/tool"});
    }
  }

  std::shared_ptr<Counted> open(const std::string& name, TransportOptions options = {}) {
    auto transport = transport_from_name(name, options);
    EXPECT_TRUE(succeeded(transport));
    return std::make_shared<Counted>(sandbox_over(std::move(*transport)));
  }
  std::shared_ptr<Counted> bwrap(const std::string& root, Words arguments = {}) {
    return open("bwrap:" + root, {.create_arguments = std::move(arguments)});
  }

  Expected<Placed> supervisor(Sandbox& sandbox) {
    return run(supervisor_for_sandbox(sandbox, options_));
  }
  Expected<Placed> tool(Sandbox& sandbox) {
    return run(tool_for_sandbox(sandbox, tool_, options_));
  }
  ExecResult exec(Sandbox& sandbox, Words argv) {
    ExecRequest request{.argv = std::move(argv)};
    return run(sandbox.exec(std::move(request)));
  }

  // The matrix: both programs run, and a second time nothing is sent.
  void expect_both_run(Counted& sandbox, const std::string& machine) {
    for (const bool is_tool : {false, true}) {
      SCOPED_TRACE(is_tool ? "tool" : "supervisor");
      const auto placed = is_tool ? tool(sandbox) : supervisor(sandbox);
      ASSERT_TRUE(succeeded(placed));
      EXPECT_EQ(placed->platform.machine, machine);
      EXPECT_GT(placed->platform.page_size, 0u);
      const ExecResult ran = exec(sandbox, {placed->path, "--version"});
      EXPECT_TRUE(ran.out.starts_with("quietus ")) << ran.out << ran.err;
      if (!sandbox.traits().shares_files) {
        EXPECT_GT(placed->sent, 0u);
      }
      sandbox.bytes = 0;
      const auto again = is_tool ? tool(sandbox) : supervisor(sandbox);
      ASSERT_TRUE(succeeded(again));
      EXPECT_EQ(again->path, placed->path);
      EXPECT_EQ(again->sent, 0u);
      EXPECT_EQ(sandbox.bytes, 0u) << "something was sent twice";
    }
  }

  Server server_;
  std::string install_;
  PayloadSearch search_;
  BootstrapOptions options_;
  ToolManifest tool_;
};

#define NEEDS_BWRAP() \
  NEEDS_ROOT();       \
  NEEDS(harness::has_tool("bwrap"), "bwrap")

// --- the matrix ---------------------------------------------------------------------------------

TEST_F(Placing, RunsOnThisMachine) {
  const auto sandbox = open("local");
  options_.directories = {path("programs")};
  expect_both_run(*sandbox, "x86_64");
  const auto shared = supervisor(*sandbox);
  ASSERT_TRUE(succeeded(shared));
  EXPECT_EQ(shared->how, "shared");
}

TEST_F(Placing, RunsInARootWithBusybox) {
  NEEDS_BWRAP();
  NEEDS(!busybox().empty(), "busybox-static");
  make_busybox_root(path("root"));
  const auto sandbox = bwrap(path("root"));
  expect_both_run(*sandbox, "x86_64");
  const auto platform = run(probe_platform(*sandbox, options_));
  ASSERT_TRUE(succeeded(platform));
  EXPECT_TRUE(platform->libraries.empty()) << platform->text();
  EXPECT_EQ(platform->asked, "sh");
}

// Its libraries serve programs that are not static, too.
TEST_F(Placing, RunsInADebian) {
  NEEDS_BWRAP();
  NEEDS(harness::has_tool("dpkg-query"), "packages of Debian");
  const Tmpfs quick(path("root"));
  make_debian_root(path("root"));
  const auto sandbox = bwrap(path("root"));
  expect_both_run(*sandbox, "x86_64");
  const auto platform = run(probe_platform(*sandbox, options_));
  ASSERT_TRUE(succeeded(platform));
  ASSERT_NE(platform->library("glibc"), nullptr) << platform->text();
  // What getconf of this machine, whose files they are, says.
  EXPECT_EQ("glibc " + platform->library("glibc")->version + "\n",
            run_tool({"getconf", "GNU_LIBC_VERSION"}).out);

  // This machine's own is known to run there, and does.
  ToolManifest cat{.name = "cat", .version = "9", .check = {"--version"}, .expect = "cat (GNU"};
  harness::write_file(path("cat"), harness::read_file("/bin/cat"));
  cat.targets = {{.machine = "x86_64",
                  .library = "glibc",
                  .library_version = "2.17",
                  .url = "file://" + path("cat"),
                  .sha256 = sha256_of_text(harness::read_file("/bin/cat"))}};
  options_.host_program = "/bin/cat";
  const auto reused = run(tool_for_sandbox(*sandbox, cat, options_));
  ASSERT_TRUE(succeeded(reused));
  EXPECT_EQ(reused->local, "/bin/cat");
  EXPECT_GT(reused->sent, 0u);
  // So does what was downloaded for its library, where that is there.
  options_.host_program.clear();
  options_.directories = {"/opt"};
  const auto fetched = run(tool_for_sandbox(*sandbox, cat, options_));
  ASSERT_TRUE(succeeded(fetched));
  EXPECT_TRUE(fetched->local.starts_with(cache()));
  make_bare_root(path("bare"));
  EXPECT_TRUE(failed(run(tool_for_sandbox(*bwrap(path("bare")), cat, options_)), ErrorKind::sandbox,
                     "no build of cat 9 is known for Linux x86_64, no C library; there are x86_64 "
                     "glibc 2.17"));
}

// As in an Alpine image: the shell and our own probe tell the same of it.
TEST_F(Placing, RunsInARootWithMusl) {
  NEEDS_BWRAP();
  NEEDS(!busybox().empty(), "busybox-static");
  NEEDS(!musl_loader().empty(), "musl");
  const std::string said = run_tool({musl_loader()}).out;
  for (const bool has_shell : {true, false}) {
    SCOPED_TRACE(has_shell ? "with a shell" : "without");
    const std::string root = path(has_shell ? "shell" : "bare");
    has_shell ? make_busybox_root(root) : make_bare_root(root);
    add_musl(root);
    const auto sandbox = bwrap(root);
    const auto placed = supervisor(*sandbox);
    ASSERT_TRUE(succeeded(placed));
    EXPECT_EQ(placed->platform.asked, has_shell ? "sh" : "quietus probe");
    const SandboxLibrary* const musl = placed->platform.library("musl");
    ASSERT_NE(musl, nullptr) << placed->platform.text();
    EXPECT_NE(said.find("Version " + musl->version + "\n"), std::string::npos) << musl->version;
    ASSERT_TRUE(succeeded(tool(*sandbox)));
  }
}

TEST_F(Placing, RunsInARootWithNothing) {
  NEEDS_BWRAP();
  make_bare_root(path("root"));
  const auto sandbox = bwrap(path("root"));
  expect_both_run(*sandbox, "x86_64");
  const auto platform = run(probe_platform(*sandbox, options_));
  ASSERT_TRUE(succeeded(platform));
  EXPECT_EQ(platform->asked, "quietus probe");
  EXPECT_TRUE(platform->libraries.empty());
}

TEST_F(Placing, GoesElsewhereWhereTmpRunsNoPrograms) {
  NEEDS_BWRAP();
  NEEDS(!busybox().empty(), "busybox-static");
  const Tmpfs noexec(path("noexec"), MS_NOEXEC);
  NEEDS(noexec.is_mounted(), "right to mount");
  for (const bool has_shell : {true, false}) {
    SCOPED_TRACE(has_shell ? "with a shell" : "without");
    const std::string root = path(has_shell ? "shell" : "bare");
    has_shell ? make_busybox_root(root) : make_bare_root(root);
    const auto sandbox = bwrap(root, {"--bind", path("noexec"), "/tmp"});
    expect_both_run(*sandbox, "x86_64");
    const auto placed = supervisor(*sandbox);
    ASSERT_TRUE(succeeded(placed));
    EXPECT_TRUE(placed->path.starts_with("/var/tmp/quietus-")) << placed->path;
    if (!has_shell) continue;
    ASSERT_GE(placed->platform.directories.size(), 2u);
    EXPECT_EQ(placed->platform.directories[0].why, "runs no programs (noexec)");
    // Nothing is left where nothing could be used.
    EXPECT_EQ(tree(path("noexec")), Words{});
    options_.directories = {"/tmp"};
    EXPECT_TRUE(failed(supervisor(*sandbox), ErrorKind::sandbox, "/tmp runs no programs (noexec)"));
    options_.directories = {"/tmp", "/var/tmp"};
  }
}

TEST_F(Placing, RunsOnAnotherMachineUnderQemuUser) {
  NEEDS(harness::has_tool("qemu-aarch64-static"), "qemu-user-static");
  // Each program is started by qemu, and there is no other: no shell.
  const std::string root = path("arm");
  make_bare_root(root);
  harness::write_file(
      path("arm.toml"),
      "exec = [\"env\", \"--chdir={cwd}\", \"qemu-aarch64-static\", \"{argv}\"]\n"
      "copy_in = [\"cp\", \"{local}\", \"{inside}\"]\n[traits]\nexit_code = true\n");
  const auto sandbox = open("template:" + path("arm.toml"));
  options_.directories = {root + "/tmp"};
  expect_both_run(*sandbox, "aarch64");
}

// One container of a store of its own.
class Podman {
 public:
  explicit Podman(const std::string& directory)
      : name("quietus-test-" + std::to_string(getpid())), directory_(directory) {
    words = {"podman",    "--root", directory + "/store", "--runroot", directory + "/run",
             "--runtime", "runc"};
  }
  ~Podman() {
    (void)call({"rm", "-f", "-t", "0", name});
    (void)call({"rmi", "-a", "-f"});
    (void)run_tool({"umount", directory_ + "/store/overlay"});
  }
  Podman(const Podman&) = delete;
  Podman& operator=(const Podman&) = delete;

  [[nodiscard]] ToolRun call(const Words& more) const { return run_tool(words + more); }
  // Empty: it runs; else why not.
  [[nodiscard]] std::string start(const Words& image_and_command) const {
    const ToolRun started = call(Words{"run", "-d", "--name", name, "--ulimit=nofile=1024:1024",
                                       "--ulimit=nproc=4096:4096", "--network=none"} +
                                 image_and_command);
    return started.worked ? std::string() : started.out;
  }
  [[nodiscard]] std::string start_image(const std::string& root, const Words& command) const {
    const ToolRun packed = run_tool({"tar", "-C", root, "-cf", root + ".tar", "."});
    const ToolRun imported = call({"import", root + ".tar", name + ":1"});
    if (!packed.worked || !imported.worked) return packed.out + imported.out;
    return start(Words{name + ":1"} + command);
  }

  std::string name;
  Words words;

 private:
  std::string directory_;
};

class PlacingInAContainer : public Placing {
 protected:
  void SetUp() override {
    NEEDS_ROOT();
    NEEDS(harness::has_tool("podman") && harness::has_tool("runc"), "podman with runc");
    NEEDS(!busybox().empty(), "busybox-static");
    quick_.emplace(path("root"));
    podman_.emplace(path("podman"));
  }
  void expect_both_run_inside() {
    const auto sandbox =
        open("podman:" + podman_->name, {.programs = {{"podman", podman_->words}}});
    expect_both_run(*sandbox, "x86_64");
  }
  std::optional<Tmpfs> quick_;
  std::optional<Podman> podman_;
};

TEST_F(PlacingInAContainer, RunsInOneOfBusybox) {
  make_busybox_root(path("root"));
  ASSERT_EQ(podman_->start_image(path("root"), {"/bin/sleep", "600"}), "");
  expect_both_run_inside();
}

TEST_F(PlacingInAContainer, RunsInOneWithASingleBinary) {
  make_bare_root(path("root"));
  // The program that keeps the container alive, under a name that is no shell's.
  fs::copy_file(busybox(), path("root/busybox"));
  ASSERT_EQ(podman_->start_image(path("root"), {"/busybox", "sleep", "600"}), "");
  const ToolRun shell = podman_->call({"exec", podman_->name, "sh", "-c", "true"});
  ASSERT_FALSE(shell.worked) << "it has a shell";
  expect_both_run_inside();
}

TEST_F(PlacingInAContainer, RunsInADebianWhoseTmpRunsNoPrograms) {
  NEEDS(harness::has_tool("dpkg-query"), "packages of Debian");
  make_debian_root(path("root"));
  ASSERT_EQ(podman_->start({"--tmpfs=/tmp:noexec", "--rootfs", path("root"), "sleep", "600"}), "");
  expect_both_run_inside();
  EXPECT_TRUE(harness::exists(path("root/var/tmp/quietus-0")));
}

// --- uploads ------------------------------------------------------------------------------------

// Every one, as a sandbox of another kind would have said it.
void change(std::string& text, std::string_view old, std::string_view fresh) {
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += fresh.size()) {
    text.replace(at, old.size(), fresh);
  }
}

class PlacingInBusybox : public Placing {
 protected:
  void SetUp() override {
    NEEDS_BWRAP();
    NEEDS(!busybox().empty(), "busybox-static");
    make_busybox_root(path("root"));
    sandbox_ = bwrap(path("root"));
  }
  std::shared_ptr<Counted> sandbox_;
};

TEST_F(PlacingInBusybox, TakesTwoCommandsAndThenTwoWithoutAByte) {
  const auto first = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(first));
  EXPECT_EQ(first->how, "cat");
  EXPECT_EQ(sandbox_->execs, 2);
  EXPECT_EQ(sandbox_->bytes, fs::file_size(musl_build("x86_64")));
  const auto before = tree(path("root"));
  sandbox_->execs = 0;
  sandbox_->bytes = 0;
  const auto second = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(second));
  EXPECT_EQ(second->how, "present");
  EXPECT_EQ(sandbox_->execs, 2);
  EXPECT_EQ(sandbox_->bytes, 0u);
  EXPECT_EQ(tree(path("root")), before) << "it leaves nothing but the program";
}

// The name is a digest, and nothing is believed because of its name.
TEST_F(PlacingInBusybox, ReplacesWhatHasAnotherDigest) {
  const auto first = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(first));
  const std::string inside = path("root") + first->path;
  const std::string good = harness::read_file(inside);
  const std::function<void()> damages[] = {
      [&] { harness::write_file(inside, "#!/bin/sh\necho '{}'\n"); },
      [&] { fs::permissions(inside, fs::perms::owner_read); },
      [&] { harness::write_file(inside, good.substr(0, 1000)); },
      [&] { fs::remove(inside), fs::create_symlink("/bin/busybox", inside); }};
  for (const auto& damage : damages) {
    damage();
    const auto again = supervisor(*sandbox_);
    ASSERT_TRUE(succeeded(again));
    EXPECT_GT(again->sent, 0u);
    EXPECT_EQ(harness::read_file(inside), good);
    EXPECT_FALSE(fs::is_symlink(inside));
  }
}

// Somebody else may have made the directory, to put his program there.
TEST_F(PlacingInBusybox, LeavesADirectoryThatIsNotItsOwn) {
  fs::create_directories(path("root/tmp/quietus-0"));
  ASSERT_EQ(::chown(path("root/tmp/quietus-0").c_str(), 1234, 1234), 0);
  fs::create_directories(path("root/opt/elsewhere"));
  fs::create_directory_symlink("/opt/elsewhere", path("root/var/tmp/quietus-0"));
  const auto placed = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(placed));
  EXPECT_TRUE(placed->path.starts_with("/opt/quietus-0/")) << placed->path;
  EXPECT_EQ(tree(path("root/opt/elsewhere")), Words{});
}

// A Sandbox of somebody else may have nothing but exec.
TEST_F(PlacingInBusybox, NeedsNothingButExec) {
  sandbox_->refuses_files = true;
  const auto placed = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(placed));
  EXPECT_EQ(placed->how, "cat");
  ASSERT_TRUE(succeeded(tool(*sandbox_)));
  EXPECT_EQ(sandbox_->uploads, 0);
  // Where that is not enough, both ways are told.
  sandbox_->traits_seen.carries_stdin = false;
  options_.directories = {"/opt"};
  EXPECT_TRUE(failed(supervisor(*sandbox_), ErrorKind::sandbox, "files cannot be copied"));
}

TEST_F(PlacingInBusybox, FallsBackToTheSandboxesOwnWayForFiles) {
  // Without standard input it travels in arguments.
  sandbox_->traits_seen.carries_stdin = false;
  const auto placed = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(placed));
  EXPECT_EQ(placed->how, "upload");
  EXPECT_EQ(sandbox_->uploads, 1);
}

TEST_F(PlacingInBusybox, TellsATransferThatWasCut) {
  const std::string half = path("half");
  harness::write_file(half, harness::read_file(musl_build("x86_64")).substr(0, 5000));
  sandbox_->on_exec = [&](ExecRequest& request) {
    if (request.input.kind == Input::Kind::file) request.input.value = half;
  };
  // The way of our own notices it, the other one brings the whole.
  const auto placed = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(placed));
  EXPECT_EQ(placed->how, "upload");
  ASSERT_FALSE(placed->notes.empty());
  EXPECT_NE(placed->notes.front().find("the transfer was cut"), std::string::npos);
}

TEST_F(PlacingInBusybox, LeavesNothingInADryRun) {
  const auto before = tree(path("root"));
  options_.dry_run = true;
  const auto placed = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(placed));
  EXPECT_EQ(placed->how, "dry run");
  const auto foreseen = tool(*sandbox_);
  ASSERT_TRUE(succeeded(foreseen));
  EXPECT_EQ(foreseen->local, tool_.targets[0].url);
  EXPECT_EQ(server_.count(), 0u);
  EXPECT_EQ(tree(path("root")), before);
  // Not even the folders above, where they were missing; what was there stays, however empty.
  fs::create_directories(path("root/opt/empty"));
  const auto with_empty = tree(path("root"));
  options_.directories = {"/opt/empty/a/b/c", "/opt/none"};
  EXPECT_EQ(supervisor(*sandbox_)->path.find("/opt/empty/a/b/c/quietus-0/"), 0u);
  EXPECT_EQ(tree(path("root")), with_empty);
  options_.directories = {"/tmp"};
  options_.dry_run = false;
  const auto real = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(real));
  EXPECT_EQ(real->path, placed->path);
}

// It foresees the path that is then given out, also where nothing has to be sent.
TEST_F(Placing, ForeseesWhereItGoesOnThisMachine) {
  const auto sandbox = open("local");
  options_.directories = {path("programs")};
  options_.dry_run = true;
  const auto supervisor_then = supervisor(*sandbox);
  const auto tool_then = tool(*sandbox);
  ASSERT_TRUE(succeeded(supervisor_then));
  ASSERT_TRUE(succeeded(tool_then));
  EXPECT_EQ(server_.count(), 0u);
  EXPECT_FALSE(harness::exists(path("programs")));
  options_.dry_run = false;
  EXPECT_EQ(supervisor(*sandbox)->path, supervisor_then->path);
  EXPECT_EQ(tool(*sandbox)->path, tool_then->path);
}

// One reason for all directories is one reason.
TEST_F(Placing, SaysOnceWhyNothingCanBeBrought) {
  NEEDS_BWRAP();
  const auto placed = supervisor(*bwrap(path("nowhere")));
  EXPECT_TRUE(failed(placed, ErrorKind::sandbox, "/tmp, /var/tmp, /opt: "));
}

TEST_F(PlacingInBusybox, NamesWhatTheSandboxDoesNotTell) {
  // Upstream took an empty answer to be the host's own machine.
  sandbox_->afterwards = [](ExecResult& result) {
    change(result.out, " machine x86_64\n", " machine \n");
  };
  // Our own program tells it instead.
  const auto helped = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(helped));
  ASSERT_FALSE(helped->notes.empty());
  EXPECT_NE(helped->notes.front().find("machine (uname -m)"), std::string::npos);
  // Where that does not run either, the answer is what is missing, and no guess.
  options_.supervisors = {supervisor_program(musl_build("aarch64")).value()};
  const auto placed = supervisor(*sandbox_);
  EXPECT_TRUE(failed(placed, ErrorKind::sandbox, "does not tell its machine (uname -m)"));
  EXPECT_TRUE(failed(placed, ErrorKind::sandbox, "no program of ours runs"));
}

TEST_F(PlacingInBusybox, NamesTwoAnswersThatDiffer) {
  sandbox_->afterwards = [](ExecResult& result) {
    change(result.out, " machine x86_64\n", " machine aarch64\n");
    change(result.out, " uid 0\n", " uid\n");
  };
  EXPECT_TRUE(failed(supervisor(*sandbox_), ErrorKind::sandbox,
                     "its shell says aarch64, its kernel x86_64"));
}

TEST_F(PlacingInBusybox, NamesAMachineThatItHasNoBuildFor) {
  sandbox_->afterwards = [](ExecResult& result) {
    change(result.out, " machine x86_64\n", " machine riscv64\n");
  };
  EXPECT_TRUE(failed(supervisor(*sandbox_), ErrorKind::sandbox,
                     "Linux riscv64, no C library); there are builds for x86_64, aarch64"));
  EXPECT_TRUE(failed(tool(*sandbox_), ErrorKind::sandbox,
                     "no build of tool 1.0 is known for Linux riscv64"));
  EXPECT_EQ(server_.count(), 0u);
  EXPECT_EQ(sandbox_->bytes, 0u);
}

TEST_F(PlacingInBusybox, NeedsRoomForTheProgram) {
  sandbox_->afterwards = [](ExecResult& result) {
    // df, as a full disk has it.
    for (std::size_t at = 0;
         (at = result.out.find("directory yes yes ", at)) != std::string::npos;) {
      at += std::string_view("directory yes yes ").size();
      result.out.replace(at, result.out.find(' ', at) - at, "12");
    }
  };
  EXPECT_TRUE(failed(supervisor(*sandbox_), ErrorKind::sandbox, "/tmp has only 12288 bytes free"));
  EXPECT_EQ(sandbox_->bytes, 0u);
}

TEST_F(PlacingInBusybox, ChecksWhatTheToolSays) {
  tool_.expect = "tool 2";
  const auto placed = tool(*sandbox_);
  EXPECT_TRUE(failed(placed, ErrorKind::sandbox, "instead of 'tool 2'"));
  EXPECT_EQ(sandbox_->bytes, fs::file_size(musl_build("x86_64"))) << "it was sent again and again";
}

TEST_F(PlacingInBusybox, ServesTheSessionsAsASource) {
  const auto source = bootstrap_payload("", options_);
  const auto path = run(source->place(*sandbox_, "/tmp/session"));
  ASSERT_TRUE(succeeded(path));
  EXPECT_TRUE(path->starts_with("/tmp/quietus-0/"));
  sandbox_->bytes = 0;
  EXPECT_EQ(run(source->place(*sandbox_, "/tmp/another")).value(), *path);
  EXPECT_EQ(sandbox_->bytes, 0u);
}

TEST_F(PlacingInBusybox, IsAskedOnlyWhereTheUsualSupervisorDoesNotRun) {
  const auto usual = bootstrap_payload(musl_build("x86_64"), options_);
  const auto there = run(usual->place(*sandbox_, "/tmp/session"));
  ASSERT_TRUE(succeeded(there));
  EXPECT_EQ(*there, "/tmp/session/quietus");
  EXPECT_FALSE(harness::exists(path("root/tmp/quietus-0")));
  const auto other = bootstrap_payload(musl_build("aarch64"), options_);
  const auto found = run(other->place(*sandbox_, "/tmp/another"));
  ASSERT_TRUE(succeeded(found));
  EXPECT_TRUE(found->starts_with("/tmp/quietus-0/")) << *found;
}

TEST_F(PlacingInBusybox, UsesWhatIsMounted) {
  fs::copy_file(musl_build("x86_64"), path("root/mounted"));
  sandbox_->traits_seen.payload = "/mounted";
  const auto placed = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(placed));
  EXPECT_EQ(placed->path, "/mounted");
  EXPECT_EQ(sandbox_->bytes, 0u);
  // One that does not run there is passed over.
  fs::copy_file(musl_build("aarch64"), path("root/mounted"), fs::copy_options::overwrite_existing);
  const auto other = supervisor(*sandbox_);
  ASSERT_TRUE(succeeded(other));
  EXPECT_EQ(other->how, "cat");
}

// --- this machine's own tool (upstream's rule) --------------------------------------------------

TEST_F(PlacingInBusybox, ReusesTheHostsToolWhereItIsKnownToRun) {
  options_.host_program = musl_build("x86_64");
  const auto placed = tool(*sandbox_);
  ASSERT_TRUE(succeeded(placed));
  EXPECT_EQ(placed->local, options_.host_program);
  EXPECT_EQ(server_.count(), 0u) << "it was downloaded all the same";
}

TEST_F(PlacingInBusybox, DownloadsWhereTheHostsToolIsNotKnownToRun) {
  harness::write_file(path("script"), "#!/bin/sh\necho quietus 1\n");
  const std::pair<std::string, const char*> tools[] = {
      {"/bin/sh", "needs glibc, and the sandbox has none"},
      {musl_build("aarch64"), "it is for aarch64, the sandbox is x86_64"},
      {path("script"), "is no ELF program"},
      {path("missing"), "No such file"}};
  for (const auto& [program, why] : tools) {
    options_.host_program = program;
    const auto placed = tool(*sandbox_);
    ASSERT_TRUE(succeeded(placed));
    EXPECT_TRUE(placed->local.starts_with(cache()));
    ASSERT_FALSE(placed->notes.empty());
    EXPECT_NE(placed->notes.front().find(why), std::string::npos) << placed->notes.front();
  }
  // And where it says something else: "Unexpected uv version output" was upstream's error.
  tool_.expect = "quietus 0.1.0";
  options_.host_program = busybox();
  const auto placed = tool(*sandbox_);
  ASSERT_TRUE(succeeded(placed));
  EXPECT_TRUE(placed->local.starts_with(cache()));
}

TEST_F(PlacingInBusybox, KeepsOneToolForManySandboxes) {
  ASSERT_TRUE(succeeded(tool(*sandbox_)));
  make_busybox_root(path("second"));
  const auto placed = tool(*bwrap(path("second")));
  ASSERT_TRUE(succeeded(placed));
  EXPECT_EQ(server_.count(), 1u);
  EXPECT_FALSE(placed->unverified);
  EXPECT_TRUE(placed->path.ends_with("/tool"));
}

TEST_F(PlacingInBusybox, SaysThatNoDigestWasKnown) {
  tool_.targets[0].sha256.clear();
  EXPECT_TRUE(failed(tool(*sandbox_), ErrorKind::input, "--allow-unverified"));
  options_.fetch.allow_unverified = true;
  const auto placed = tool(*sandbox_);
  ASSERT_TRUE(succeeded(placed));
  EXPECT_TRUE(placed->unverified);
}

// --- the builds of this machine -----------------------------------------------------------------

TEST_F(Placing, RefusesABuildThatIsNotTheListedOne) {
  ASSERT_TRUE(succeeded(find_supervisors(search_)));
  EXPECT_EQ(find_supervisors(search_)->size(), 2u);
  harness::write_file(install_ + "/quietus-x86_64",
                      harness::read_file(install_ + "/quietus-x86_64") + "x");
  EXPECT_TRUE(failed(find_supervisors(search_), ErrorKind::input, "SHA256SUMS"));
  // The machine in the name is checked too.
  const std::string arm = harness::read_file(musl_build("aarch64"));
  harness::write_file(install_ + "/quietus-x86_64", arm);
  harness::write_file(install_ + "/SHA256SUMS", sha256_of_text(arm) + "  quietus-x86_64\n");
  EXPECT_TRUE(failed(find_supervisors(search_), ErrorKind::input, "SHA256SUMS"));
  // One that is not listed is not looked at.
  harness::write_file(install_ + "/SHA256SUMS", "");
  EXPECT_TRUE(failed(find_supervisors(search_), ErrorKind::input, "cmake --preset"));
}

TEST_F(Placing, RefusesAPayloadThatIsNotStatic) {
  EXPECT_TRUE(
      failed(find_supervisors({.explicit_path = "/bin/sh"}), ErrorKind::input, "not static"));
  EXPECT_TRUE(failed(find_supervisors({.explicit_path = "/etc/passwd"}), ErrorKind::input, "ELF"));
  const auto given = find_supervisors({.environment_path = musl_build("aarch64")});
  ASSERT_TRUE(succeeded(given));
  EXPECT_EQ(given->at(0).machine, "aarch64");
}

// --- many at once -------------------------------------------------------------------------------

asio::awaitable<bool> raw_copy(std::shared_ptr<Sandbox> sandbox) {
  const std::string from = musl_build("x86_64");
  const TransferOptions options{.mode = 0755};
  const auto done = co_await sandbox->upload(from, "/tmp/raw/quietus", options);
  co_return done.has_value();
}

asio::awaitable<bool> bootstrapped(std::shared_ptr<Sandbox> sandbox, BootstrapOptions options) {
  const auto placed = co_await supervisor_for_sandbox(*sandbox, std::move(options));
  co_return placed.has_value() && placed->sent > 0;
}

TEST_F(PlacingInBusybox, OfAHundredAtOnceSendsEachItsProgramOnce) {
  constexpr int kSandboxes = 100;
  const auto all = [&](const std::function<asio::awaitable<bool>(int)>& work) {
    asio::io_context loop;
    int done = 0;
    for (int at = 0; at < kSandboxes; ++at) {
      asio::co_spawn(loop, work(at),
                     [&](std::exception_ptr thrown, bool worked) { done += !thrown && worked; });
    }
    const auto begin = harness::Clock::now();
    loop.run();
    EXPECT_EQ(done, kSandboxes);
    return harness::seconds_since(begin);
  };
  // bwrap needs a root for each; what is in it is one and the same, but for /tmp.
  const auto root = [&](int at) {
    const std::string tmp = path("many/") + std::to_string(at);
    fs::remove_all(tmp);
    fs::create_directories(tmp);
    return bwrap(path("root"), {"--bind", tmp, "/tmp"});
  };
  // Which of the two waits longer for whatever else the machine does is no property of ours: their
  // ratio is told, and what it comes from is judged.
  std::vector<std::shared_ptr<Counted>> sandboxes;
  for (int at = 0; at < kSandboxes; ++at) sandboxes.push_back(root(at));
  const double raw = all([&](int at) { return raw_copy(sandboxes[static_cast<std::size_t>(at)]); });
  sandboxes.clear();
  for (int at = 0; at < kSandboxes; ++at) sandboxes.push_back(root(at));
  const double ours =
      all([&](int at) { return bootstrapped(sandboxes[static_cast<std::size_t>(at)], options_); });
  // Each got the program once, by the fewest commands.
  for (const auto& sandbox : sandboxes) {
    EXPECT_EQ(sandbox->bytes, fs::file_size(musl_build("x86_64")));
    EXPECT_EQ(sandbox->execs, 2);
  }
  std::printf("# 100 sandboxes at once: copy %.2f s, bootstrap %.2f s, %.2f of the copy's rate\n",
              raw, ours, raw / ours);
}

}  // namespace
}  // namespace bootstrap_tests
