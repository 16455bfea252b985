#include "contract/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "harness/json.hpp"

namespace quietus {
namespace {

std::string text(std::string_view value) { return JsonWriter().text(value).take(); }
std::string seconds(std::int64_t nanoseconds) { return JsonWriter().seconds(nanoseconds).take(); }

TEST(JsonWriter, SeparatesAsPythonDoes) {
  JsonWriter json;
  json.begin_object()
      .field("a", std::string_view("x"))
      .field("b", std::int64_t{-7})
      .field("c", true)
      .key("d")
      .null()
      .key("e")
      .begin_array()
      .number(1)
      .text("two")
      .begin_array()
      .end_array()
      .begin_object()
      .end_object()
      .boolean(false)
      .end_array()
      .key("f")
      .begin_object()
      .field("g", 3)
      .end_object()
      .field("h", "literal")
      .end_object();
  EXPECT_EQ(json.take(),
            R"({"a": "x", "b": -7, "c": true, "d": null, "e": [1, "two", [], {}, false], )"
            R"("f": {"g": 3}, "h": "literal"})");
}

TEST(JsonWriter, EscapesAsPythonDoes) {
  EXPECT_EQ(text("plain ~ !"), R"("plain ~ !")");
  EXPECT_EQ(text("\"\\/"), R"("\"\\/")");
  EXPECT_EQ(text("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(text(std::string_view("\0\x01\x1f\x7f", 4)), R"("\u0000\u0001\u001f\u007f")");
  EXPECT_EQ(text("\xC3\xA9"), R"("\u00e9")");
  EXPECT_EQ(text("\xE2\x82\xAC"), R"("\u20ac")");
  EXPECT_EQ(text("\xF0\x9F\x98\x80"), R"("\ud83d\ude00")");
  EXPECT_EQ(text("\xF4\x8F\xBF\xBF"), R"("\udbff\udfff")");
  EXPECT_EQ(text("\xEF\xBF\xBF"), R"("\uffff")");
}

TEST(JsonWriter, WhatIsNoUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(text("a\xFFz"), R"("a\ufffdz")");
  EXPECT_EQ(text("\x80"), R"("\ufffd")");
  // A truncated sequence is replaced byte by byte, and what follows is kept.
  EXPECT_EQ(text("\xE2\x82"), R"("\ufffd\ufffd")");
  EXPECT_EQ(text("\xE2\x82z"), R"("\ufffd\ufffdz")");
  EXPECT_EQ(text("\xF0\x9F\x98"), R"("\ufffd\ufffd\ufffd")");
  // Overlong forms, surrogates, and what lies beyond Unicode.
  EXPECT_EQ(text("\xC0\xAF"), R"("\ufffd\ufffd")");
  EXPECT_EQ(text("\xE0\x80\x80"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(text("\xED\xA0\x80"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(text("\xED\xBF\xBF"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(text("\xF4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
  EXPECT_EQ(text("\xF8\x88\x80\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd\ufffd")");
}

TEST(JsonWriter, WritesSecondsWithMicroseconds) {
  EXPECT_EQ(seconds(0), "0.000000");
  EXPECT_EQ(seconds(999), "0.000000");
  EXPECT_EQ(seconds(1000), "0.000001");
  EXPECT_EQ(seconds(1250000000), "1.250000");
  EXPECT_EQ(seconds(59999999999), "59.999999");
  EXPECT_EQ(seconds(-1500000000), "-1.500000");
  EXPECT_EQ(seconds(std::numeric_limits<std::int64_t>::max()), "9223372036.854775");
}

TEST(JsonWriter, WritesTheLargestNumbers) {
  EXPECT_EQ(JsonWriter().number(std::numeric_limits<std::int64_t>::max()).take(),
            "9223372036854775807");
  EXPECT_EQ(JsonWriter().number(std::numeric_limits<std::int64_t>::min()).take(),
            "-9223372036854775808");
}

// Whatever bytes a process has in its name: the document parses, and is ASCII.
TEST(JsonWriter, AnyBytesGiveAValidDocument) {
  std::mt19937 random(20261129);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes) {
      // Mostly lead and continuation bytes: pure noise is seldom nearly right.
      const unsigned kind = random() % 4;
      byte = static_cast<char>(kind == 0   ? random() % 256
                               : kind == 1 ? 0xC0 + random() % 64
                               : kind == 2 ? 0x80 + random() % 64
                                           : random() % 128);
    }
    JsonWriter json;
    json.begin_object().key(bytes).text(bytes).end_object();
    const std::string document = json.take();
    for (const char c : document) ASSERT_TRUE(c >= 0x20 && c < 0x7F) << document;
    const auto parsed = harness::Json::parse(document);
    ASSERT_EQ(parsed.size(""), 1u) << document;
  }
}

}  // namespace
}  // namespace quietus
