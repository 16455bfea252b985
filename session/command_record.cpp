#include "session/command_record.hpp"

#include <cstdint>

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr Span kRecordTime = 60s;
// The kernel itself takes no more than 6 MiB of both together (execve(2)).
constexpr std::uint32_t kMostBytes = 8u << 20;
constexpr std::uint32_t kMostStrings = 1u << 20;

class RecordReader {
 public:
  RecordReader(sys::Gate& gate, int fd)
      : gate_(gate), fd_(fd), deadline_(Deadline::after(sys::now(gate), kRecordTime)) {}

  bool strings(std::vector<std::string>& into) {
    std::uint32_t count = 0;
    if (!number(count)) return false;
    if (count > kMostStrings) return fail("too many strings");
    for (std::uint32_t at = 0; at < count; ++at) {
      std::uint32_t length = 0;
      if (!number(length)) return false;
      bytes_ += length;
      if (length > kMostBytes || bytes_ > kMostBytes) return fail("longer than execve takes");
      std::string text(length, '\0');
      if (!fill(text.data(), length)) return false;
      if (text.find('\0') != std::string::npos) return fail("a string holds a NUL");
      into.push_back(std::move(text));
    }
    return true;
  }

  bool fail(std::string why) {
    error_ = std::move(why);
    return false;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool number(std::uint32_t& value) {
    unsigned char bytes[4];
    if (!fill(reinterpret_cast<char*>(bytes), sizeof bytes)) return false;
    value = static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
            static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
    return true;
  }

  bool fill(char* into, std::size_t length) {
    while (length > 0) {
      pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
      (void)sys::poll(gate_, {&ready, 1}, deadline_.left(sys::now(gate_)));
      if (ready.revents == 0) return fail("it did not come in time");
      const auto got = sys::read(gate_, fd_, {into, length});
      if (!got) return fail(std::string(sys::describe(got.error().code)));
      if (*got == 0) return fail("it ends too early");
      into += *got;
      length -= *got;
    }
    return true;
  }

  sys::Gate& gate_;
  int fd_;
  Deadline deadline_;
  std::uint64_t bytes_ = 0;
  std::string error_;
};

}  // namespace

tl::expected<CommandRecord, std::string> read_command_record(sys::Gate& gate, int fd) {
  RecordReader reader(gate, fd);
  CommandRecord record;
  if (!reader.strings(record.argv) || !reader.strings(record.environment)) {
    return tl::unexpected(reader.error());
  }
  if (record.argv.empty()) return tl::unexpected(std::string("it holds no command"));
  return record;
}

}  // namespace quietus
