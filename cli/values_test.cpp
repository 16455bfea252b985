#include "cli/values.hpp"

#include <gtest/gtest.h>

namespace quietus::cli {
namespace {

TEST(Values, ASizeIsANumberOfBytesWithOrWithoutAUnit) {
  EXPECT_EQ(parse_size("1"), 1u);
  EXPECT_EQ(parse_size("3KiB"), 3u << 10);
  EXPECT_EQ(parse_size("3M"), 3u << 20);
  EXPECT_EQ(parse_size("2GiB"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("1024TiB"), std::uint64_t{1} << 50);
}

TEST(Values, ASizeIsNeitherZeroNorNegativeNorTooLargeNorAnythingElse) {
  for (const char* text : {"", "0", "-1", "1.5M", "1025TiB", "18446744073709551616", "1 M", "M",
                           "1MB", "0x10", "1KiBKiB", "20000000000000000T"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(Values, ParallelIsAtLeastOne) {
  EXPECT_EQ(parse_parallel("1"), 1);
  EXPECT_EQ(parse_parallel("10000"), 10000);
  for (const char* text : {"", "0", "-1", "10001", "x", "1.0"}) {
    EXPECT_FALSE(parse_parallel(text)) << text;
  }
}

TEST(Values, WordsAreWhatBlanksSeparate) {
  EXPECT_EQ(split_words("  podman  --runtime runc "),
            (std::vector<std::string>{"podman", "--runtime", "runc"}));
  EXPECT_TRUE(split_words("   ").empty());
}

TEST(Values, AValueIsShownCutAndWithoutControlCharacters) {
  EXPECT_EQ(shown_value("a\x1b[31m\nb"), "'a?[31m?b'");
  const std::string shown = shown_value(std::string(1000, 'x'));
  EXPECT_EQ(shown, "'" + std::string(80, 'x') + "...'");
}

TEST(Values, AnErrorNamesPlaceRuleAndValue) {
  EXPECT_EQ(broken("argument --timeout", "no", "a number").text,
            "argument --timeout: must be a number, not 'no'");
}

TEST(Values, SizesAreForPeople) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(std::uint64_t{5} << 30), "5.0 GiB");
}

TEST(Values, DurationsAreForPeople) {
  EXPECT_EQ(duration_text(0), "0.0 s");
  EXPECT_EQ(duration_text(59.94), "59.9 s");
  EXPECT_EQ(duration_text(83), "1 m 23 s");
  EXPECT_EQ(duration_text(3 * 3600 + 60), "3 h 1 m");
  EXPECT_EQ(duration_text(-1), "0.0 s");
  EXPECT_EQ(duration_text(1e300), duration_text(1e12));
}

}  // namespace
}  // namespace quietus::cli
