#include "kernel/procfs.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace quietus::sys {
namespace {

// proc_pid_stat(5), as a kernel of our day writes it.
std::string stat_line(std::string_view comm, std::string_view start_ticks = "987654321") {
  return "4711 (" + std::string(comm) +
         ") S 4000 4711 4710 34816 4711 4194304 1 2 3 4 50 7 8 9 20 0 1 0 " +
         std::string(start_ticks) + " 1048576 200 18446744073709551615 1 1 0 0 0 0 0 0 0\n";
}

TEST(ParseStat, ReadsTheFieldsThatMatter) {
  const auto row = parse_stat(stat_line("sleep"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->pid, 4711);
  EXPECT_EQ(row->comm, "sleep");
  EXPECT_EQ(row->state, 'S');
  EXPECT_EQ(row->ppid, 4000);
  EXPECT_EQ(row->pgid, 4711);
  EXPECT_EQ(row->sid, 4710);
  EXPECT_EQ(row->cpu_ticks, 57u);
  EXPECT_EQ(row->start_ticks, 987654321u);
}

TEST(ParseStat, TheNameIsWhateverTheProcessWants) {
  for (const std::string_view comm : {"", " ", ")", "(", ") S 1 1 1", "a) (b", ")))", "((", "\n",
                                      "x\ny", "12 (34) R 5", "\xFF\xFE", "0123456789abcde"}) {
    const auto row = parse_stat(stat_line(comm));
    ASSERT_TRUE(row) << comm;
    EXPECT_EQ(row->comm, comm);
    EXPECT_EQ(row->ppid, 4000) << comm;
    EXPECT_EQ(row->start_ticks, 987654321u) << comm;
  }
  EXPECT_TRUE(parse_stat(stat_line(std::string_view("a\0b", 3))));
}

TEST(ParseStat, NegativeGroupsOfAKernelThatHidesThem) {
  const auto row = parse_stat("1 (x) Z 0 -1 -1 0 0 0 0 0 0 0 1 1 0 0 0 0 0 0 5 0\n");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->pgid, -1);
  EXPECT_EQ(row->sid, -1);
}

// Wherever the row is cut: nothing, or a row with every field right.
TEST(ParseStat, ATruncatedRowIsNoRow) {
  const std::string whole = stat_line("a) (b");
  const std::size_t complete = whole.find(" 1048576");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto row = parse_stat(whole.substr(0, length));
    if (!row) continue;
    EXPECT_EQ(row->pid, 4711) << length;
    EXPECT_EQ(row->cpu_ticks, 57u) << length;
    // Only digits of the last field can be missing, and a reader that is cut there has a row of
    // more than 4096 bytes before it, which the kernel does not write.
    EXPECT_GT(length, complete - 9) << length;
  }
  EXPECT_FALSE(parse_stat(whole.substr(0, complete - 9)));
  EXPECT_TRUE(parse_stat(whole.substr(0, complete)));
}

TEST(ParseStat, NumbersThatDoNotFitAreNoRow) {
  EXPECT_EQ(parse_stat(stat_line("x", "18446744073709551615"))->start_ticks,
            std::numeric_limits<std::uint64_t>::max());
  for (const std::string_view bytes :
       {"", "\n", "4711", "4711 ", "4711 (", "4711 ()", "4711 () S", "(x) S 1 1 1", " (x) S 1 1 1",
        "0 (x) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "-1 (x) S 1 1 1",
        "99999999999 (x) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "1 (x) S 99999999999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "1 (x) S x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "1 (x) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 18446744073709551616 1", "1 )x( S 1 1 1"}) {
    EXPECT_FALSE(parse_stat(bytes)) << bytes;
  }
}

TEST(ParseChildren, TakesNumbersAndStopsAtWhatIsNone) {
  EXPECT_EQ(parse_children(""), std::vector<int>{});
  EXPECT_EQ(parse_children("\n"), std::vector<int>{});
  EXPECT_EQ(parse_children("1 22 333 "), (std::vector<int>{1, 22, 333}));
  EXPECT_EQ(parse_children("1 22"), (std::vector<int>{1, 22}));
  EXPECT_EQ(parse_children("  7   8 "), (std::vector<int>{7, 8}));
  EXPECT_EQ(parse_children("4194304 "), (std::vector<int>{4194304}));
  for (const char* wrong : {"5 x 6 ", "5 0 6 ", "5 -6 7 ", "5 99999999999 6 ", "5 6\n7 "}) {
    EXPECT_EQ(parse_children(wrong), std::vector<int>{5}) << wrong;
  }
}

TEST(ParseCgroupPath, IsThatOfVersionTwo) {
  EXPECT_EQ(parse_cgroup_path("0::/\n"), "/");
  EXPECT_EQ(parse_cgroup_path("0::/user.slice/a b:c\n"), "/user.slice/a b:c");
  EXPECT_EQ(parse_cgroup_path("9:name=systemd:/x\n4:memory:/y\n0::/z\n"), "/z");
  EXPECT_EQ(parse_cgroup_path("0::/z"), "/z");
  for (const char* none : {"", "\n", "9:name=systemd:/x\n4:memory:/y\n", "0::\n", "0:", "10::/x\n",
                           "x0::/y\n", "0:name:/x\n"}) {
    EXPECT_EQ(parse_cgroup_path(none), std::nullopt) << none;
  }
}

TEST(ParseEffectiveUid, IsTheSecondNumberOfUid) {
  EXPECT_EQ(parse_effective_uid("Name:\tx\nUid:\t1000\t0\t7\t8\nGid:\t1\t1\t1\t1\n"), 0);
  EXPECT_EQ(parse_effective_uid("Uid:\t1\t4294967294\t3\t4"), 4294967294);
  // A name may hold a newline only in escaped form, but who knows.
  EXPECT_EQ(parse_effective_uid("Name:\tUid:\t5\t6\nUid:\t1\t2\t3\t4\n"), 2);
  for (const char* none : {"", "Uid:", "Uid:\t1", "Uid:\t1\t", "Uid:\t1\tx\t", "Gid:\t1\t2\t3\t4\n",
                           " Uid:\t1\t2\t3\t4\n"}) {
    EXPECT_EQ(parse_effective_uid(none), std::nullopt) << none;
  }
}

TEST(ParseStatusSize, IsInKib) {
  const std::string_view status = "VmPeak:\t  9999 kB\nVmRSS:\t    1234 kB\nVmRSSx:\t 1 kB\n";
  EXPECT_EQ(parse_status_size(status, "VmRSS"), 1234);
  EXPECT_EQ(parse_status_size(status, "VmPeak"), 9999);
  EXPECT_EQ(parse_status_size(status, "Vm"), std::nullopt);
  EXPECT_EQ(parse_status_size(status, "RssAnon"), std::nullopt);
  for (const char* none : {"", "VmRSS", "VmRSS:", "VmRSS:\n", "VmRSS:\tnone kB\n"}) {
    EXPECT_EQ(parse_status_size(none, "VmRSS"), std::nullopt) << none;
  }
}

TEST(PrintableCommandLine, IsJoinedAndCut) {
  const auto shown = [](std::string_view bytes, std::size_t limit = 16) {
    return printable_command_line(bytes, limit);
  };
  EXPECT_EQ(shown(""), "");
  EXPECT_EQ(shown(std::string_view("\0\0\0", 3)), "");
  EXPECT_EQ(shown(std::string_view("a\0b c\0\0d\0", 9)), "a b c  d");
  EXPECT_EQ(shown("0123456789abcdef"), "0123456789abcdef");
  EXPECT_EQ(shown("0123456789abcdefg"), "0123456789abcdef...");
  EXPECT_EQ(shown(std::string_view("0123456789abcdef\0\0", 18)), "0123456789abcdef");
}

TEST(ParsePrimaryGroup, IsTheOneOfTheUid) {
  const std::string_view passwd =
      "root:x:0:0:root:/root:/bin/sh\n"
      "# a comment\n"
      "\n"
      "+::::::\n"
      "odd:x:12\n"
      "half:x:1000\n"
      "user:x:1000:1001::/home/user:/bin/sh\n"
      "later:x:1000:7::/:\n"
      "last:x:65534:65533";
  EXPECT_EQ(parse_primary_group(passwd, 0), 0u);
  EXPECT_EQ(parse_primary_group(passwd, 65534), 65533u);
  EXPECT_EQ(parse_primary_group(passwd, 1), std::nullopt);
  EXPECT_EQ(parse_primary_group("", 0), std::nullopt);
  EXPECT_EQ(parse_primary_group("x:x:5:4294967295:::\n", 5), 4294967295u);
  EXPECT_EQ(parse_primary_group("x:x:5:4294967296:::\n", 5), std::nullopt);
}

}  // namespace
}  // namespace quietus::sys
