#include "kernel/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace quietus::sys {
namespace {

TEST(Errors, FallIntoNamedClasses) {
  for (const int code : {ENOSYS, EPERM, EACCES, EINVAL, EOPNOTSUPP}) {
    EXPECT_TRUE(missing({code, "x"})) << code;
  }
  for (const int code : {ENOENT, ESRCH, EAGAIN, EINTR, EIO, ENOMEM, EMFILE}) {
    EXPECT_FALSE(missing({code, "x"})) << code;
  }
  EXPECT_TRUE(gone({ESRCH, "x"}) && gone({ENOENT, "x"}) && gone({ECHILD, "x"}));
  EXPECT_FALSE(gone({EPERM, "x"}));
  EXPECT_TRUE(denied({EPERM, "x"}) && denied({EACCES, "x"}));
  EXPECT_FALSE(denied({ENOSYS, "x"}));
  EXPECT_TRUE(would_block({EAGAIN, "x"}) && would_block({EWOULDBLOCK, "x"}));
  EXPECT_FALSE(would_block({EINTR, "x"}));
}

// The words are the same under every C library; glibc's are the ones that upstream shows.
TEST(Errors, AreDescribedAsGlibcDescribesThem) {
  int described = 0;
  for (int code = 1; code < 134; ++code) {
    if (describe(code) == "Unknown error") continue;
    ++described;
    EXPECT_EQ(describe(code), std::strerror(code)) << code;
  }
  EXPECT_GE(described, 35);
  EXPECT_EQ(describe(9999), "Unknown error");
}

TEST(Errors, AreToldInUpstreamsForm) {
  EXPECT_EQ(errno_text(ENOENT, "/missing/bin"),
            "[Errno 2] No such file or directory: '/missing/bin'");
  EXPECT_EQ(errno_text(EPERM, ""), "[Errno 1] Operation not permitted");
  EXPECT_EQ(errno_text(9999, "x"), "[Errno 9999] Unknown error: 'x'");
}

// Python's repr, in which nothing moves a cursor or begins a line.
TEST(Errors, QuoteNamesAsPythonDoes) {
  EXPECT_EQ(quoted("it's"), R"("it's")");
  EXPECT_EQ(quoted(R"(say "x")"), R"('say "x"')");
  EXPECT_EQ(quoted(R"(it's "x")"), R"('it\'s "x"')");
  EXPECT_EQ(quoted(R"(a\b)"), R"('a\\b')");
  EXPECT_EQ(quoted("a\nb\tc\rd"), R"('a\nb\tc\rd')");
  EXPECT_EQ(quoted("\x1b[31m\x7f\x01\v"), R"('\x1b[31m\x7f\x01\x0b')");
  EXPECT_EQ(quoted("\xc3\xa9"), "'\xc3\xa9'");
}

}  // namespace
}  // namespace quietus::sys
