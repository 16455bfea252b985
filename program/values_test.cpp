#include "program/values.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

namespace quietus {
namespace {

TEST(Values, Signals) {
  EXPECT_EQ(parse_signal("INT"), SIGINT);
  EXPECT_EQ(parse_signal("SIGUSR1"), SIGUSR1);
  EXPECT_EQ(parse_signal("9"), SIGKILL);
  for (const char* wrong : {"", "0", "65", "NOPE", "-9", "9 "}) {
    const auto parsed = parse_signal(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error(), "a signal name or a number from 1 to 64");
  }
}

TEST(Values, Policies) {
  EXPECT_EQ(parse_descendants("tree"), Descendants::tree);
  EXPECT_EQ(parse_descendants("group"), Descendants::group);
  EXPECT_EQ(parse_descendants("keep-on-success"), Descendants::keep_on_success);
  for (const char* wrong : {"", "Tree", "tree ", "keep", "keep_on_success", "none"}) {
    EXPECT_FALSE(parse_descendants(wrong)) << wrong;
  }
}

TEST(Values, Sizes) {
  const std::pair<const char*, std::uint64_t> rows[] = {
      {"1", 1},
      {"1000", 1000},
      {"1K", 1024},
      {"1KiB", 1024},
      {"3M", 3 << 20},
      {"1MiB", 1 << 20},
      {"1G", 1u << 30},
      {"1GiB", 1u << 30},
      {"1024MiB", 1u << 30},
      {"1073741824", 1u << 30},
      {"007", 7},
  };
  for (const auto& [text, bytes] : rows) EXPECT_EQ(parse_size(text), bytes) << text;
  for (const char* wrong : {"",
                            "0",
                            "0KiB",
                            "-1",
                            "+1",
                            "1.5M",
                            "1 M",
                            "1k",
                            "1m",
                            "1kb",
                            "1KB",
                            "1TiB",
                            "K",
                            "KiB",
                            "2G",
                            "1025M",
                            "1073741825",
                            "18446744073709551615G",
                            "99999999999999999999",
                            "1KiBx"}) {
    EXPECT_FALSE(parse_size(wrong)) << wrong;
  }
}

TEST(Values, Limits) {
  const auto nofile = parse_limit("nofile=64");
  ASSERT_TRUE(nofile);
  EXPECT_EQ(nofile->resource, RLIMIT_NOFILE);
  EXPECT_EQ(nofile->soft, 64u);
  EXPECT_EQ(nofile->hard, 64u);
  const auto cpu = parse_limit("cpu=1:unlimited");
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->soft, 1u);
  EXPECT_EQ(cpu->hard, RLIM_INFINITY);
  EXPECT_EQ(parse_limit("core=infinity")->soft, RLIM_INFINITY);
  EXPECT_EQ(parse_limit("stack=0:0")->hard, 0u);
  for (const char* name :
       {"as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile",
        "nproc", "rss", "rtprio", "rttime", "sigpending", "stack"}) {
    EXPECT_TRUE(parse_limit(std::string(name) + "=1")) << name;
  }
  for (const char* wrong : {"", "nofile", "nofile=", "=1", "nofile=1:", "nofile=:1", "nofile=x",
                            "nofile=-1", "nofile=1:0", "nofile=unlimited:1", "nofile=1:2:3",
                            "NOFILE=1", "files=1", "nofile=1 ", "nofile=99999999999999999999"}) {
    EXPECT_FALSE(parse_limit(wrong)) << wrong;
  }
}

TEST(Values, Users) {
  const auto user = parse_user("1000:1001");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 1000u);
  EXPECT_EQ(user->gid, 1001u);
  EXPECT_EQ(parse_user("0")->uid, 0u);
  EXPECT_EQ(parse_user("0")->gid, std::nullopt);
  EXPECT_EQ(parse_user("4294967294:4294967294")->gid, 4294967294u);
  // The last number means "leave it" to setresuid(2).
  for (const char* wrong : {"", ":", "1:", ":1", "root", "1:users", "-1", "4294967295",
                            "0:4294967295", "4294967296", "1:2:3", " 1", "1 "}) {
    EXPECT_FALSE(parse_user(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace quietus
