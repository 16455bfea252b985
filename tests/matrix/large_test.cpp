// A large artifact is fetched through a buffer that does not grow, and comes whole or not at all.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "matrix/cell_scene.hpp"

namespace matrix {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
constexpr std::uint64_t kSmall = std::uint64_t{4} << 20;
constexpr long kMostGrowth = 16 * 1024;  // KiB
constexpr double kLongPatience = 250;

long status_kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != field + ':') continue;
    long value = 0;
    status >> value;
    return value;
  }
  throw std::runtime_error("no " + field);
}

// slurmstepd passes a line, or 1 KiB, at a time: ten times as slow as the others.
std::uint64_t size_of_artifact() { return here() == Column::slurm ? kGibibyte / 16 : kGibibyte; }

// The way of a stand-in is podman's.
std::vector<Column> columns() {
  if (here() == Column::kube || here() == Column::apptainer) return {};
  return {here()};
}

class Large : public CellScene, public testing::WithParamInterface<Column> {
 protected:
  void SetUp() override {
    const Column column = GetParam();
    enter(Row::normal, column);
    inside = place().own_files ? "/tmp/large" : path("large");
    fill(outside(inside));
    // On a disk: memory is where all other files of this run are.
    const char* disk = std::getenv("QUIETUS_DISK");
    if (disk == nullptr) throw std::runtime_error("QUIETUS_DISK is not set");
    folder = std::string(disk) + '/' + word(column);
    fs::create_directories(folder);
  }
  void TearDown() override {
    std::error_code ignored;
    if (!folder.empty()) fs::remove_all(folder, ignored);
    if (!inside.empty()) {
      fs::remove(outside(inside), ignored);
      EXPECT_TRUE(client_tests::succeeded(run(sandbox().disconnect())));
    }
    CellScene::TearDown();
  }

  // A sparse file: some pages tell their own place, so that none can be missing, doubled or moved.
  static void fill(const std::string& path) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) throw std::runtime_error("cannot make " + path);
    std::array<std::uint64_t, 512> page{};
    for (std::uint64_t at = 0; at < size_of_artifact(); at += size_of_artifact() / 256) {
      page.fill(at + 1);
      if (pwrite(fd, page.data(), sizeof page, static_cast<off_t>(at)) != sizeof page) abort();
    }
    const std::uint64_t last = size_of_artifact() - sizeof page;
    page.fill(~last);
    if (pwrite(fd, page.data(), sizeof page, static_cast<off_t>(last)) != sizeof page) abort();
    close(fd);
  }

  static testing::AssertionResult same(const std::string& left, const std::string& right) {
    std::ifstream one(left, std::ios::binary);
    std::ifstream two(right, std::ios::binary);
    std::vector<char> a(1 << 20);
    std::vector<char> b(1 << 20);
    std::uint64_t total = 0;
    for (;;) {
      one.read(a.data(), static_cast<std::streamsize>(a.size()));
      two.read(b.data(), static_cast<std::streamsize>(b.size()));
      if (one.gcount() != two.gcount()) return testing::AssertionFailure() << "sizes differ";
      if (one.gcount() == 0) break;
      if (a != b) return testing::AssertionFailure() << "bytes differ after " << total;
      total += static_cast<std::uint64_t>(one.gcount());
    }
    if (total != size_of_artifact())
      return testing::AssertionFailure() << "it has " << total << " bytes";
    return testing::AssertionSuccess();
  }

  [[nodiscard]] std::uint64_t arrived() const {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) bytes += entry.file_size(error);
    return bytes;
  }

  std::string inside;
  std::string folder;
};

TEST_P(Large, ArtifactIsFetchedWithLessThanSixteenMebibytes) {
  const std::string here_now = folder + "/large";
  // The next high-water mark is of this alone.
  harness::write_file("/proc/self/clear_refs", "5");
  const long before = status_kib("VmRSS");
  TransferOptions limits{.most_bytes = size_of_artifact()};
  const auto got = run(sandbox().download(inside, here_now, limits), kLongPatience);
  const long most = status_kib("VmHWM");
  ASSERT_TRUE(client_tests::succeeded(got));
  EXPECT_LT(most - before, kMostGrowth) << "KiB";
  EXPECT_TRUE(same(outside(inside), here_now));
  EXPECT_EQ(names_in(folder).size(), 1U);
}

TEST_P(Large, TransferThatIsCutIsAnErrorAndLeavesNothing) {
  const bool has_client = GetParam() != Column::local;
  for (const int signal : {SIGKILL, SIGTERM}) {
    const auto fetching = start(sandbox().download(inside, folder + "/large", TransferOptions{}));
    ASSERT_TRUE(until([&] { return fetching->done() || arrived() > kSmall; }, kLongPatience));
    ASSERT_FALSE(fetching->done()) << "too fast to be cut";
    if (has_client) {
      const std::vector<pid_t> clients = clients_of(inside);
      ASSERT_EQ(clients.size(), 1U);
      ASSERT_EQ(kill(clients.front(), signal), 0);
      EXPECT_TRUE(client_tests::failed(end_of(fetching), ErrorKind::transport));
    } else {
      fetching->cancel();
      EXPECT_TRUE(client_tests::failed(end_of(fetching), ErrorKind::cancelled));
    }
    EXPECT_TRUE(names_in(folder).empty()) << "something stands at the destination";
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Large);
INSTANTIATE_TEST_SUITE_P(Fetched, Large, testing::ValuesIn(columns()), column_name);

}  // namespace
}  // namespace matrix
