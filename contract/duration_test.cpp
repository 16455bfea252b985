#include "contract/duration.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quietus {
namespace {

using namespace std::chrono_literals;

// Whatever was wrong, the whole rule is told.
constexpr std::string_view kSeconds = "a finite and positive number of seconds";
constexpr std::string_view kSuffixes =
    "finite and positive: a number of seconds, or one with the suffix s, m, h or d";

struct Accepted {
  std::string_view text;
  Span span;
};

TEST(Duration, TakesEverySpellingOfPlainSeconds) {
  const Accepted rows[] = {
      {"1", 1s},
      {"90", 90s},
      {"1.5", 1500ms},
      {".5", 500ms},
      {"5.", 5s},
      {"1E1", 10s},
      {"2.50", 2500ms},
      {"2.5", 2500ms},
      {"2e3", 2000s},
      {"2e+3", 2000s},
      {"2000e-3", 2s},
      {"0.000000001", 1ns},
      {"0000000000000000000000000000001", 1s},
      {"1.0000000000000000000000000000", 1s},
      {"0.0000000000000000000000000000001e31", 1s},
      {"10000000000000000000000000000000e-31", 1s},
      {"1234567890.123456789", 1234567890123456789ns},
      {"2147483648", 2147483648s},
      {"4294967297", 4294967297s},
  };
  for (const auto& [text, span] : rows) {
    for (const Units units : {Units::seconds, Units::suffixes}) {
      const auto got = parse_duration(text, units);
      ASSERT_TRUE(got) << text << ": " << got.error();
      EXPECT_EQ(*got, span) << text;
    }
  }
}

TEST(Duration, TakesSuffixesOnlyWhereTheyAreAllowed) {
  const Accepted rows[] = {
      {"90s", 90s},      {"5m", 5min},    {"2h", 2h},      {"1d", 24h},
      {"1.5m", 90s},     {".25h", 15min}, {"1e1m", 10min}, {"0.5d", 12h},
      {"1000d", 24000h}, {"1e-9s", 1ns},  {"0.1d", 8640s}, {"1.00001d", 86400864ms},
  };
  for (const auto& [text, span] : rows) {
    const auto got = parse_duration(text, Units::suffixes);
    ASSERT_TRUE(got) << text << ": " << got.error();
    EXPECT_EQ(*got, span) << text;
    const auto plain = parse_duration(text, Units::seconds);
    ASSERT_FALSE(plain) << text;
    EXPECT_EQ(plain.error(), kSeconds) << text;
  }
}

TEST(Duration, RefusesWhatIsNoNumber) {
  for (const std::string_view text :
       {"",    " ",    "abc", "nan",  "NaN", "inf",  "-inf",     "infinity", "-1",
        "-0",  "+5",   "1,5", "0x10", "1 2", " 1",   "1 ",       "1\n",      "1_0",
        ".",   "e5",   ".e5", "1e",   "1e+", "1ee5", "1.5.5",    "--1",      "1S",
        "1ms", "1sec", "s",   "m",    "1 s", "1ss",  "\xD9\xA1", "1\xC2\xA0"}) {
    for (const Units units : {Units::seconds, Units::suffixes}) {
      const auto got = parse_duration(text, units);
      ASSERT_FALSE(got) << '"' << text << '"';
      EXPECT_EQ(got.error(), units == Units::seconds ? kSeconds : kSuffixes) << text;
    }
  }
  EXPECT_FALSE(parse_duration(std::string_view("1\0", 2), Units::suffixes));
}

TEST(Duration, RefusesZeroAndInfinity) {
  for (const std::string_view text :
       {"0", "0.0", ".0", "0.", "0e5", "000", "0e-400", "0e400", "1e400", "1e309", "10e308",
        "0.1e310", "1e99999999999999999999"}) {
    const auto got = parse_duration(text, Units::seconds);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error(), kSeconds) << text;
  }
  EXPECT_EQ(parse_duration("0s", Units::suffixes).error(), kSuffixes);
  EXPECT_EQ(parse_duration("0d", Units::suffixes).error(), kSuffixes);
}

TEST(Duration, WhatIsTooLongForTheClockIsForever) {
  for (const std::string_view text :
       {"9223372036.854776", "9223372037", "18446744073.709551616", "18446744074", "1e10", "1e18",
        "1e19", "1e30", "1e300", "1e308", "99999999999999999999999999999", "4611686018.427387904",
        "9999999999999999999"}) {
    const auto got = parse_duration(text, Units::seconds);
    ASSERT_TRUE(got) << text << ": " << got.error();
    EXPECT_EQ(*got, kForever) << text;
  }
  for (const std::string_view text : {"53376d", "1e15d", "9999999999999999999d", "1e308d"}) {
    EXPECT_EQ(parse_duration(text, Units::suffixes).value(), kForever) << text;
  }
  // The last that is not, to the nanosecond.
  EXPECT_EQ(parse_duration("4611686018.427387903", Units::seconds).value(), kForever - 1ns);
  EXPECT_EQ(parse_duration("53375d", Units::suffixes).value(), 53375 * 24h);
}

TEST(Duration, WhatIsTooShortForTheClockIsOneNanosecond) {
  for (const std::string_view text :
       {"1e-9", "1e-10", "1e-30", "5e-324", "1e-400", "1e-99999999999999999999",
        "0.0000000000000000000000001", "0.9e-9"}) {
    const auto got = parse_duration(text, Units::seconds);
    ASSERT_TRUE(got) << text << ": " << got.error();
    EXPECT_EQ(*got, 1ns) << text;
  }
}

// digits * 86400 does not fit 64 bits here, although the duration is short.
TEST(Duration, ManyDigitsOfALongUnitAreExact) {
  EXPECT_EQ(parse_duration("1.234567890123456789d", Units::suffixes).value(), 106666665706666ns);
  EXPECT_EQ(parse_duration("9.999999999999999999d", Units::suffixes).value(), 863999999999999ns);
  EXPECT_EQ(parse_duration("0.00001157407407407407d", Units::suffixes).value(), 999999999ns);
  EXPECT_EQ(parse_duration("999.9999999999999999h", Units::suffixes).value(), 3599999999999999ns);
  EXPECT_EQ(parse_duration("12345678901234567890e-19m", Units::suffixes).value(), 74074073407ns);
}

TEST(Duration, DigitsBeyondTheClocksResolutionChangeNothing) {
  const std::string long_tail = "1." + std::string(5000, '3');
  EXPECT_EQ(parse_duration(long_tail, Units::seconds).value(), 1333333333ns);
  const std::string long_head(5000, '9');
  EXPECT_FALSE(parse_duration(long_head, Units::seconds));  // beyond 1e308: infinite, as a double
  std::string zeros(5000, '0');
  zeros += '2';
  EXPECT_EQ(parse_duration(zeros, Units::seconds).value(), 2s);
}

}  // namespace
}  // namespace quietus
