#include "contract/decimal.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace quietus {
namespace {

TEST(Decimal, TheWholeTextMustBeTheNumber) {
  EXPECT_EQ(parse_decimal<int>("0"), 0);
  EXPECT_EQ(parse_decimal<int>("-12"), -12);
  EXPECT_EQ(parse_decimal<int>("007"), 7);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x1", "1.0", "-", "--1", "1\n"}) {
    EXPECT_EQ(parse_decimal<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_decimal<unsigned>("-1"), std::nullopt);
}

TEST(Decimal, WhatDoesNotFitIsNoNumber) {
  EXPECT_EQ(parse_decimal<int>("2147483647"), std::numeric_limits<int>::max());
  EXPECT_EQ(parse_decimal<int>("2147483648"), std::nullopt);
  EXPECT_EQ(parse_decimal<int>("-2147483648"), std::numeric_limits<int>::min());
  EXPECT_EQ(parse_decimal<int>("-2147483649"), std::nullopt);
  EXPECT_EQ(parse_decimal<std::uint64_t>("18446744073709551615"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_decimal<std::uint64_t>("18446744073709551616"), std::nullopt);
}

TEST(Decimal, WritesEveryRange) {
  EXPECT_EQ(decimal(0), "0");
  EXPECT_EQ(decimal(-1), "-1");
  EXPECT_EQ(decimal(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(decimal(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

}  // namespace
}  // namespace quietus
