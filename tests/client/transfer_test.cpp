// Files and trees, in and out, by every way there is: shared files, a shell, tar, no standard
// input, no shell at all; and what is left when a transfer is cut, refused or cancelled.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <filesystem>

#include "client/scene.hpp"
#include "client/src/staged.hpp"
#include "client/src/task.hpp"

namespace client_tests {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

// The ways, each as a template over this machine, so that "inside" can be looked at.
struct Way {
  const char* name;
  const char* text;  // empty: the local transport
};

constexpr Way kLocal = {"local", ""};
constexpr Way kShell = {"shell", R"(exec = ["{argv}"])"};
constexpr Way kLine = {"line", "exec = [\"sh\", \"-c\", \"exec {argv}\"]\nquoting = \"shell\""};
constexpr Way kNoStdin = {"no_stdin", "exec = [\"{argv}\"]\n[traits]\nstdin = false\n"};
constexpr Way kNoShell = {"no_shell", R"(exec = ["env", "PATH=/nonexistent", "{argv}"]
                                         copy_in = ["cp", "-a", "{local}", "{inside}"]
                                         copy_out = ["cp", "-a", "{inside}", "{local}"])"};

std::string way_name(const testing::TestParamInfo<Way>& way) { return way.param.name; }

class Transfers : public Scene {
 protected:
  std::shared_ptr<Sandbox> sandbox(std::string_view text) {
    std::string name = "local";
    if (!text.empty()) {
      harness::write_file(path("template.toml"), text);
      name = "template:" + path("template.toml");
    }
    auto made = transport_from_name(name);
    if (!made) throw std::runtime_error(made.error().text());
    return sandbox_over(std::move(*made));
  }
  Expected<void> upload(Sandbox& to, const std::string& local, const std::string& inside,
                        TransferOptions options = {}) {
    return run(to.upload(local, inside, options));
  }
  Expected<void> download(Sandbox& from, const std::string& inside, const std::string& local,
                          TransferOptions options = {}) {
    return run(from.download(inside, local, options));
  }
  // Everything below a directory, hidden files too.
  static std::size_t entries(const std::string& directory) {
    if (!fs::exists(directory)) return 0;
    const auto all = fs::recursive_directory_iterator(directory);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  void make_tree() {
    fs::create_directories(path("tree/deep/er"));
    harness::write_file(path("tree/a b"), "one");
    harness::write_file(path("tree/deep/er/$x"), "two");
    fs::create_symlink("a b", path("tree/link"));
    chmod(path("tree/a b").c_str(), 0640);
  }
};

class EveryWay : public Transfers, public testing::WithParamInterface<Way> {
 protected:
  std::shared_ptr<Sandbox> sandbox() { return Transfers::sandbox(GetParam().text); }
};

// Where the destination is ours to judge, not the tool's own copy.
class OurWay : public EveryWay {};
// Without standard input, only files are carried.
class TreeWay : public EveryWay {};
class OurTreeWay : public EveryWay {};

INSTANTIATE_TEST_SUITE_P(Ways, EveryWay, testing::Values(kLocal, kShell, kLine, kNoStdin, kNoShell),
                         way_name);
INSTANTIATE_TEST_SUITE_P(Ways, OurWay, testing::Values(kLocal, kShell, kLine, kNoStdin), way_name);
INSTANTIATE_TEST_SUITE_P(Ways, TreeWay, testing::Values(kLocal, kShell, kLine, kNoShell), way_name);
INSTANTIATE_TEST_SUITE_P(Ways, OurTreeWay, testing::Values(kLocal, kShell, kLine), way_name);

TEST_P(EveryWay, CarriesAFileWholeAndWithItsMode) {
  // Longer than one piece of any way, and with every byte.
  std::string bytes;
  for (int at = 0; at < 250000; ++at) bytes += static_cast<char>(at * 31 + at / 256);
  harness::write_file(path("file"), bytes);
  chmod(path("file").c_str(), 0750);
  const auto to = sandbox();
  const std::string inside = path("in side/it's/$f");
  fs::create_directories(path("in side"));
  ASSERT_TRUE(succeeded(upload(*to, path("file"), inside)));
  EXPECT_EQ(harness::read_file(inside), bytes);
  struct stat there {};
  ASSERT_EQ(stat(inside.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777, 0750u);
  EXPECT_EQ(entries(path("in side")), 2u) << "nothing else is left";
  ASSERT_TRUE(succeeded(download(*to, inside, path("back/file"))));
  EXPECT_EQ(harness::read_file(path("back/file")), bytes);
  EXPECT_EQ(entries(path("back")), 1u);
}

TEST_P(EveryWay, CarriesAnEmptyFileAndReplacesOne) {
  const auto to = sandbox();
  harness::write_file(path("empty"), "");
  harness::write_file(path("target"), "old");
  if (std::string_view(GetParam().name) == "no_shell") fs::remove(path("target"));
  ASSERT_TRUE(succeeded(upload(*to, path("empty"), path("target"))));
  EXPECT_EQ(harness::read_file(path("target")), "");
  EXPECT_TRUE(harness::exists(path("target")));
  harness::write_file(path("back"), "old");
  ASSERT_TRUE(succeeded(download(*to, path("target"), path("back"))));
  EXPECT_EQ(harness::read_file(path("back")), "");
}

TEST_P(TreeWay, CarriesATree) {
  make_tree();
  const auto to = sandbox();
  ASSERT_TRUE(succeeded(upload(*to, path("tree"), path("new/inside"))));
  EXPECT_EQ(harness::read_file(path("new/inside/a b")), "one");
  EXPECT_EQ(harness::read_file(path("new/inside/deep/er/$x")), "two");
  EXPECT_EQ(fs::read_symlink(path("new/inside/link")), "a b");
  EXPECT_EQ(entries(path("new")), 6u) << "nothing else is left";
  ASSERT_TRUE(succeeded(download(*to, path("new/inside"), path("back/tree"))));
  EXPECT_EQ(harness::read_file(path("back/tree/a b")), "one");
  EXPECT_EQ(harness::read_file(path("back/tree/deep/er/$x")), "two");
  EXPECT_EQ(fs::read_symlink(path("back/tree/link")), "a b");
  EXPECT_EQ(entries(path("back")), 6u);
}

TEST_P(OurTreeWay, RefusesToReplaceByATree) {
  make_tree();
  fs::create_directories(path("there"));
  const auto to = sandbox();
  EXPECT_TRUE(failed(upload(*to, path("tree"), path("there")), ErrorKind::input));
  EXPECT_EQ(entries(path("there")), 0u);
  EXPECT_TRUE(failed(download(*to, path("tree"), path("there")), ErrorKind::input));
  EXPECT_EQ(entries(path("there")), 0u);
}

TEST_P(EveryWay, SaysWhatIsMissing) {
  const auto to = sandbox();
  EXPECT_TRUE(failed(upload(*to, path("none"), path("x")), ErrorKind::input, path("none")));
  const auto back = download(*to, path("none"), path("back"));
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().text().find(path("none")), std::string::npos) << back.error().text();
  EXPECT_FALSE(harness::exists(path("back")));
  EXPECT_TRUE(failed(upload(*to, path("none"), "relative"), ErrorKind::input, "absolute"));
  EXPECT_TRUE(failed(download(*to, "relative", path("x")), ErrorKind::input, "absolute"));
}

TEST_P(EveryWay, LeavesNothingOfWhatIsTooLarge) {
  harness::write_file(path("file"), std::string(100001, 'x'));
  const auto to = sandbox();
  const TransferOptions limit{.most_bytes = 100000};
  fs::create_directories(path("d"));
  EXPECT_TRUE(failed(upload(*to, path("file"), path("d/x"), limit), ErrorKind::input, "100000"));
  EXPECT_TRUE(failed(download(*to, path("file"), path("d/y"), limit), ErrorKind::input, "100000"));
  EXPECT_EQ(entries(path("d")), 0u);
}

TEST_P(OurWay, DoesNotPutAFileIntoADirectoryByAccident) {
  harness::write_file(path("file"), "x");
  fs::create_directories(path("d"));
  const auto to = sandbox();
  EXPECT_TRUE(failed(upload(*to, path("file"), path("d")), ErrorKind::input, "directory"));
  EXPECT_TRUE(failed(download(*to, path("file"), path("d")), ErrorKind::input, "directory"));
  EXPECT_EQ(entries(path("d")), 0u);
}

TEST_P(EveryWay, RefusesWhatIsNoFile) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  const auto to = sandbox();
  EXPECT_TRUE(failed(upload(*to, path("fifo"), path("x")), ErrorKind::input));
  EXPECT_TRUE(failed(download(*to, path("fifo"), path("x")), ErrorKind::input));
  EXPECT_FALSE(harness::exists(path("x")));
}

TEST_P(EveryWay, MakesPrivateParents) {
  harness::write_file(path("file"), "x");
  const auto to = sandbox();
  const TransferOptions options{.private_parents = true};
  ASSERT_TRUE(succeeded(upload(*to, path("file"), path("session/file"), options)));
  struct stat there {};
  ASSERT_EQ(stat(path("session").c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777, 0700u);
}

// A connection that breaks looks like an end of file to whatever reads from it.
TEST_F(Transfers, CutOnTheWayInAreErrorsAndLeaveNothing) {
  const auto to = sandbox(R"(exec = ["sh", "-c", "head -c 1000 | \"$@\"", "sh", "{argv}"])");
  harness::write_file(path("file"), std::string(50000, 'x'));
  make_tree();
  harness::write_file(path("tree/large"), std::string(50000, 'x'));
  fs::create_directories(path("d"));
  EXPECT_TRUE(failed(upload(*to, path("file"), path("d/x")), ErrorKind::transport, "cut"));
  EXPECT_FALSE(upload(*to, path("tree"), path("d/t")));
  EXPECT_EQ(entries(path("d")), 0u);
}

// An archive may also be cut between two of its files, which tar takes for its end.
TEST_F(Transfers, OfTreesCutBetweenTwoFilesAreErrors) {
  fs::create_directories(path("tree"));
  for (const char* name : {"a", "b", "c", "d"}) {
    harness::write_file(path("tree/" + std::string(name)), std::string(512, 'x'));
  }
  for (const char* blocks : {"1", "3", "5", "7", "9"}) {
    const auto to = sandbox(R"(exec = ["sh", "-c", "dd bs=512 iflag=fullblock count=)" +
                            std::string(blocks) + R"( 2>/dev/null | \"$@\"", "sh", "{argv}"])");
    fs::create_directories(path("d"));
    EXPECT_FALSE(upload(*to, path("tree"), path("d/t"))) << blocks;
    EXPECT_EQ(entries(path("d")), 0u) << blocks;
  }
}

TEST_F(Transfers, CutOnTheWayOutAreErrorsAndLeaveNothing) {
  const auto from = sandbox(R"(exec = ["sh", "-c", "\"$@\" | head -c 1000", "sh", "{argv}"])");
  harness::write_file(path("file"), std::string(50000, 'x'));
  make_tree();
  harness::write_file(path("tree/large"), std::string(50000, 'x'));
  fs::create_directories(path("d"));
  EXPECT_TRUE(failed(download(*from, path("file"), path("d/x")), ErrorKind::transport, "cut"));
  EXPECT_FALSE(download(*from, path("tree"), path("d/t")));
  EXPECT_EQ(entries(path("d")), 0u);
}

// The last byte is as good as all.
TEST_F(Transfers, ThatLackTheirLastByteAreErrors) {
  harness::write_file(path("file"), std::string(2000, 'x'));
  // "quietus shell" and two tools are asked for first; the file's stream is 2 + 2000 + 40 bytes.
  const auto from = sandbox(R"(exec = ["sh", "-c", "\"$@\" | head -c 2041", "sh", "{argv}"])");
  EXPECT_TRUE(failed(download(*from, path("file"), path("x")), ErrorKind::transport, "cut"));
  EXPECT_FALSE(harness::exists(path("x")));
  const auto whole = sandbox(R"(exec = ["sh", "-c", "\"$@\" | head -c 2042", "sh", "{argv}"])");
  EXPECT_TRUE(succeeded(download(*whole, path("file"), path("x"))));
}

TEST_F(Transfers, OfADeadTransportAreErrors) {
  const auto dead = sandbox(
      "exec = [\"sh\", \"-c\", \"exit 200\", \"sh\", \"{argv}\"]\n"
      "client_failed = [200]");
  harness::write_file(path("file"), "x");
  EXPECT_TRUE(failed(upload(*dead, path("file"), path("y")), ErrorKind::transport));
  EXPECT_TRUE(failed(download(*dead, path("file"), path("y")), ErrorKind::transport));
  EXPECT_FALSE(harness::exists(path("y")));
}

TEST_F(Transfers, EndWhenTheyAreCancelledOrLate) {
  // Stands still in the middle.
  const auto slow = sandbox(R"(exec = ["sh", "-c", "case \"$*\" in *'cat '*) touch )" +
                            path("stands") + R"(; sleep 1000;; esac; \"$@\"", "sh", "{argv}"])");
  harness::write_file(path("file"), std::string(100000, 'x'));
  fs::create_directories(path("d"));
  for (const bool in : {true, false}) {
    fs::remove(path("stands"));
    const auto pending = in ? start(slow->upload(path("file"), path("d/x"), {}))
                            : start(slow->download(path("file"), path("d/x"), {}));
    ASSERT_TRUE(until([&] { return harness::exists(path("stands")); }));
    ASSERT_FALSE(pending->done());
    pending->cancel();
    ASSERT_TRUE(until([&] { return pending->done(); }));
    EXPECT_TRUE(failed(pending->result(), ErrorKind::cancelled));
    EXPECT_EQ(entries(path("d")), 0u);
    const TransferOptions late{.deadline = 500ms};
    EXPECT_TRUE(failed(in ? upload(*slow, path("file"), path("d/x"), late)
                          : download(*slow, path("file"), path("d/x"), late),
                       ErrorKind::timeout));
    EXPECT_EQ(entries(path("d")), 0u);
  }
}

TEST_F(Transfers, DoNotHoldAFileInMemory) {
  constexpr off_t kSize = off_t{64} << 20;
  const int file = open(path("large").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(ftruncate(file, kSize), 0);
  close(file);
  for (const char* text : {"", R"(exec = ["{argv}"])"}) {
    const auto way = sandbox(text);
    const std::size_t before = memory_in_use();
    std::size_t most = before;
    const auto pending = start(way->download(path("large"), path("copy"), {}));
    ASSERT_TRUE(until(
        [&] {
          most = std::max(most, memory_in_use());
          return pending->done();
        },
        200));
    ASSERT_TRUE(succeeded(pending->result()));
    EXPECT_LT(most - before, std::size_t{16} << 20);
    EXPECT_EQ(fs::file_size(path("copy")), static_cast<std::uintmax_t>(kSize));
    const auto up = start(way->upload(path("large"), path("copy2"), {}));
    ASSERT_TRUE(until(
        [&] {
          most = std::max(most, memory_in_use());
          return up->done();
        },
        200));
    ASSERT_TRUE(succeeded(up->result()));
    EXPECT_LT(most - before, std::size_t{16} << 20);
    fs::remove(path("copy"));
    fs::remove(path("copy2"));
  }
}

TEST_F(Transfers, TextsTravelAsTheyAre) {
  const auto to = sandbox(R"(exec = ["{argv}"])");
  const std::string text = "caf\xe9 $(x)\n\0 end"s;
  ASSERT_TRUE(succeeded(run(upload_text(*to, text, path("t")))));
  EXPECT_EQ(harness::read_file(path("t")), text);
  const auto back = run(download_text(*to, path("t"), 100));
  ASSERT_TRUE(succeeded(back));
  EXPECT_EQ(*back, text);
  EXPECT_TRUE(failed(run(download_text(*to, path("t"), 5)), ErrorKind::input, "5 bytes"));
}

// What the sandbox sends is not to be trusted.
TEST_F(Transfers, TakeNoDevicesOutOfASandbox) {
  fs::create_directories(path("tree"));
  ASSERT_EQ(mkfifo(path("tree/fifo").c_str(), 0600), 0);
  const auto from = sandbox(R"(exec = ["{argv}"])");
  EXPECT_TRUE(failed(download(*from, path("tree"), path("back")), ErrorKind::input, "fifo"));
  EXPECT_FALSE(harness::exists(path("back")));
}

TEST_F(Transfers, AreConfinedToTheirRoot) {
  fs::create_directories(path("root/tmp"));
  fs::create_directories(path("outside"));
  fs::create_directory_symlink(path("outside"), path("root/way-out"));
  fs::create_directory_symlink("../../../../../../" + path("outside"), path("root/up"));
  for (const char* inside : {"/way-out/file", "/up/file"}) {
    auto staged = Staged::below(path("root"), inside, 0755);
    if (staged) {
      ASSERT_TRUE(staged->make_file());
      (void)staged->commit_file(0600);
    }
    EXPECT_EQ(entries(path("outside")), 0u) << inside;
  }
  auto fine = Staged::below(path("root"), "/tmp/new/file", 0700);
  ASSERT_TRUE(succeeded(fine));
  ASSERT_TRUE(fine->make_file());
  ASSERT_TRUE(succeeded(fine->commit_file(0600)));
  EXPECT_TRUE(harness::exists(path("root/tmp/new/file")));
}

}  // namespace
}  // namespace client_tests
