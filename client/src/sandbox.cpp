#include "quietus/sandbox.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "client/src/descriptor.hpp"
#include "client/src/texts.hpp"

namespace quietus {
namespace {

// A file of our own for a text on its way.
class Carrier {
 public:
  Carrier() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quietus-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) directory_ = pattern;
  }
  ~Carrier() {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  [[nodiscard]] bool made() const { return !directory_.empty(); }
  [[nodiscard]] std::string path() const { return directory_ + "/text"; }

 private:
  std::string directory_;
};

tl::unexpected<Error> no_carrier() {
  return fail(ErrorKind::input, "no temporary directory can be made here",
              "set TMPDIR to a directory that can be written");
}

}  // namespace

asio::awaitable<Expected<void>> upload_text(Sandbox& sandbox, std::string text, std::string inside,
                                            TransferOptions options) {
  const Carrier carrier;
  if (!carrier.made()) co_return no_carrier();
  {
    const auto file = open_file(carrier.path().c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!file) co_return fail(file.error());
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t wrote = ::write(file->get(), rest.data(), rest.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0)
        co_return fail(ErrorKind::input, system_message("write", carrier.path(), errno));
      rest.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }
  // Not the mode of our own file, which nobody but we may read.
  if (!options.mode) options.mode = 0644;
  co_return co_await sandbox.upload(carrier.path(), std::move(inside), options);
}

asio::awaitable<Expected<std::string>> download_text(Sandbox& sandbox, std::string inside,
                                                     std::uint64_t most_bytes) {
  co_return co_await download_end(sandbox, std::move(inside), most_bytes, most_bytes);
}

asio::awaitable<Expected<std::string>> download_end(Sandbox& sandbox, std::string inside,
                                                    std::uint64_t most_bytes,
                                                    std::uint64_t kept_bytes) {
  const Carrier carrier;
  if (!carrier.made()) co_return no_carrier();
  TransferOptions options{.most_bytes = most_bytes};
  const auto got = co_await sandbox.download(inside, carrier.path(), options);
  if (!got) co_return fail(got.error());
  const auto file = open_file(carrier.path().c_str(), O_RDONLY);
  if (!file) co_return fail(file.error());
  struct stat there {};
  if (fstat(file->get(), &there) != 0 || !S_ISREG(there.st_mode)) {
    co_return fail(ErrorKind::input, "'" + inside + "' is no file");
  }
  const auto size = static_cast<std::uint64_t>(there.st_size);
  std::string text(std::min(size, kept_bytes), '\0');
  const std::uint64_t begin = size - text.size();
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got_now = ::pread(file->get(), text.data() + filled, text.size() - filled,
                                    static_cast<off_t>(begin + filled));
    if (got_now < 0 && errno == EINTR) continue;
    if (got_now <= 0) co_return fail(ErrorKind::input, system_message("read", inside, errno));
    filled += static_cast<std::size_t>(got_now);
  }
  co_return text;
}

}  // namespace quietus
