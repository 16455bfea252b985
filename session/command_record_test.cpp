#include "session/command_record.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace quietus {
namespace {

std::string number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string strings(const std::vector<std::string>& list) {
  std::string bytes = number(static_cast<std::uint32_t>(list.size()));
  for (const std::string& text : list) {
    bytes += number(static_cast<std::uint32_t>(text.size())) + text;
  }
  return bytes;
}

// What is read from a pipe that somebody fills while we read; the rest that was not taken.
struct Taken {
  tl::expected<CommandRecord, std::string> record;
  std::string rest;
};

Taken read_from_pipe(const std::string& bytes, std::size_t piece = 1 << 16) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::thread writer([&] {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const std::size_t size = std::min(piece, bytes.size() - at);
      if (write(ends[1], bytes.data() + at, size) < 0) break;
    }
    close(ends[1]);
  });
  sys::Gate gate;
  Taken taken{read_command_record(gate, ends[0]), {}};
  char chunk[4096];
  ssize_t got = 0;
  while ((got = read(ends[0], chunk, sizeof chunk)) > 0) {
    taken.rest.append(chunk, static_cast<std::size_t>(got));
  }
  writer.join();
  close(ends[0]);
  return taken;
}

TEST(CommandRecord, BringsArgumentsAndEnvironment) {
  const std::vector<std::string> argv = {"/bin/x", "", "two words", "\xFF\xFE",
                                         std::string(5000, 'y')};
  const std::vector<std::string> environment = {"A=b", "EMPTY=", "=odd", "noequals"};
  const Taken taken = read_from_pipe(strings(argv) + strings(environment));
  ASSERT_TRUE(taken.record) << taken.record.error();
  EXPECT_EQ(taken.record->argv, argv);
  EXPECT_EQ(taken.record->environment, environment);
  EXPECT_EQ(taken.rest, "");
}

TEST(CommandRecord, TakesNothingBeyondItself) {
  const Taken taken = read_from_pipe(strings({"x"}) + strings({}) + "a lease follows");
  ASSERT_TRUE(taken.record);
  EXPECT_EQ(taken.rest, "a lease follows");
}

TEST(CommandRecord, MayComeByteByByte) {
  const Taken taken = read_from_pipe(strings({"x", "yy"}) + strings({"A=b"}), 1);
  ASSERT_TRUE(taken.record);
  EXPECT_EQ(taken.record->argv.size(), 2u);
}

TEST(CommandRecord, IsRefusedWhereverItEnds) {
  const std::string whole = strings({"x", "yy"}) + strings({"A=b"});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Taken taken = read_from_pipe(whole.substr(0, length));
    ASSERT_FALSE(taken.record) << length;
    EXPECT_EQ(taken.record.error(), "it ends too early") << length;
  }
}

TEST(CommandRecord, IsRefusedWhereItsNumbersAreBeyondReason) {
  struct Row {
    std::string bytes;
    std::string_view why;
  };
  const Row rows[] = {
      {number(0) + number(0), "it holds no command"},
      {number(0xFFFFFFFF), "too many strings"},
      {number((1u << 20) + 1), "too many strings"},
      {number(1) + number(0xFFFFFFFF), "longer than execve takes"},
      {number(1) + number((8u << 20) + 1), "longer than execve takes"},
      {strings({std::string("a\0b", 3)}) + number(0), "a string holds a NUL"},
      {strings({"x"}) + strings({std::string(1, '\0')}), "a string holds a NUL"},
      // Together too long, each of them not.
      {number(3) + number(4u << 20) + std::string(4u << 20, 'a') + number(4u << 20) +
           std::string(4u << 20, 'a') + number(1),
       "longer than execve takes"},
  };
  for (const Row& row : rows) {
    const Taken taken = read_from_pipe(row.bytes);
    ASSERT_FALSE(taken.record) << row.why;
    EXPECT_EQ(taken.record.error(), row.why);
  }
}

TEST(CommandRecord, ADescriptorThatIsNotOpenIsAnError) {
  sys::Gate gate;
  const int unused = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(unused);
  const auto record = read_command_record(gate, unused);
  ASSERT_FALSE(record);
  EXPECT_FALSE(record.error().empty());
}

}  // namespace
}  // namespace quietus
