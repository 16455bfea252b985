#include "contract/receipt_parse.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quietus {
namespace {

constexpr std::string_view kPlain =
    R"({"cleanup_confirmed": true, "return_code": 7, "error": null, "timed_out": false})";

TEST(ReceiptParse, TakesExactlyTheFourKeys) {
  const auto parsed = parse_receipt(kPlain);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->strict);
  EXPECT_TRUE(parsed->receipt.cleanup_confirmed);
  EXPECT_EQ(parsed->receipt.return_code, 7);
  EXPECT_EQ(parsed->receipt.error, std::nullopt);
  EXPECT_FALSE(parsed->receipt.timed_out);
}

TEST(ReceiptParse, TakesWhatItsOwnWriterWrites) {
  for (const std::optional<int> code : {std::optional<int>(), std::optional(0), std::optional(255),
                                        std::optional(-9), std::optional(-64)}) {
    for (const char* error :
         {"", "plain", "a \"quoted\"\n\t\\ text", "[Errno 2] No such file: 'x'"}) {
      for (const bool flag : {true, false}) {
        Receipt receipt;
        receipt.cleanup_confirmed = flag;
        receipt.return_code = code;
        if (*error != '\0') receipt.error = error;
        receipt.timed_out = !flag;
        const std::string text = receipt_json(receipt);
        const auto parsed = parse_receipt(text);
        ASSERT_TRUE(parsed) << text;
        EXPECT_TRUE(parsed->strict) << text;
        EXPECT_EQ(receipt_json(parsed->receipt), text);
      }
    }
  }
}

TEST(ReceiptParse, DoesNotMindTheOrderOrBlanks) {
  const auto parsed = parse_receipt(
      " {\n\t\"timed_out\":true , \"error\":\"\\u0041\\n\",\r\"return_code\":-15,"
      "\"cleanup_confirmed\":true}\n\n");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->strict);
  EXPECT_EQ(parsed->receipt.return_code, -15);
  EXPECT_EQ(parsed->receipt.error, "A\n");
  EXPECT_TRUE(parsed->receipt.timed_out);
}

TEST(ReceiptParse, NoStandInForTrueConfirms) {
  for (const std::string_view value :
       {"\"true\"", "1", "1.0", "null", "[true]", "{\"a\": true}", "false", "\"\"", "-1"}) {
    const std::string text = "{\"cleanup_confirmed\": " + std::string(value) +
                             ", \"return_code\": 0, \"error\": null, \"timed_out\": false}";
    const auto parsed = parse_receipt(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_FALSE(parsed->receipt.cleanup_confirmed) << text;
    EXPECT_EQ(parsed->strict, value == "false") << text;
  }
}

TEST(ReceiptParse, SavesWhatCanBeSaved) {
  struct Row {
    const char* text;
    bool confirmed;
    std::optional<int> code;
    std::optional<std::string> error;
    bool timed_out;
  };
  const Row rows[] = {
      {R"({"cleanup_confirmed": true, "error": null})", true, {}, {}, false},
      {R"({"cleanup_confirmed": true})", true, {}, {}, false},
      {R"({})", false, {}, {}, false},
      {R"({"cleanup_confirmed": true, "return_code": true, "error": 5, "timed_out": 1})",
       true,
       {},
       {},
       false},
      {R"({"cleanup_confirmed": true, "return_code": 1.0, "error": ["x"], "timed_out": "true"})",
       true,
       {},
       {},
       false},
      {R"({"cleanup_confirmed": true, "return_code": 99999999999, "error": "e", "timed_out": true})",
       true,
       {},
       "e",
       true},
      {R"({"cleanup_confirmed": true, "return_code": "0", "error": "e", "timed_out": null})",
       true,
       {},
       "e",
       false},
      {R"({"cleanup_confirmed": true, "return_code": 3, "error": null, "timed_out": false, "x": 1})",
       true,
       3,
       {},
       false},
      {R"({"cleanup_confirmed": false, "return_code": 3, "error": "e", "timed_out": false, "x": {}})",
       false, 3, "e", false},
      // Numbers that are no JSON.
      {R"({"cleanup_confirmed": true, "return_code": 007, "error": null, "timed_out": false})",
       true,
       {},
       {},
       false},
      {R"({"cleanup_confirmed": true, "return_code": -015, "error": null, "timed_out": false})",
       true,
       {},
       {},
       false},
      // Said twice: the last word counts, and it is no strict receipt.
      {R"({"cleanup_confirmed": true, "cleanup_confirmed": false})", false, {}, {}, false},
      {R"({"cleanup_confirmed": true, "cleanup_confirmed": "x"})", false, {}, {}, false},
  };
  for (const Row& row : rows) {
    const auto parsed = parse_receipt(row.text);
    ASSERT_TRUE(parsed) << row.text;
    EXPECT_FALSE(parsed->strict) << row.text;
    EXPECT_EQ(parsed->receipt.cleanup_confirmed, row.confirmed) << row.text;
    EXPECT_EQ(parsed->receipt.return_code, row.code) << row.text;
    EXPECT_EQ(parsed->receipt.error, row.error) << row.text;
    EXPECT_EQ(parsed->receipt.timed_out, row.timed_out) << row.text;
  }
}

TEST(ReceiptParse, RefusesWhatIsNoObject) {
  for (const std::string_view text : {"",
                                      " ",
                                      "[]",
                                      "null",
                                      "true",
                                      "1",
                                      "\"stopped\"",
                                      "{",
                                      "}",
                                      "{}}",
                                      "{,}",
                                      "x{}",
                                      "{} x",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{'a':1}",
                                      "{\"a\":tru}",
                                      "{\"a\":+1}",
                                      "{\"a\":\"\n\"}",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12\"}",
                                      "{\"a\":\"\\u12g4\"}",
                                      "{\"a\":[1}",
                                      "{\"a\":[1,]}",
                                      "{\"a\":{\"b\"}}",
                                      R"({"cleanup_confirmed": true)",
                                      R"({"cleanup_confirmed": true}{})"}) {
    EXPECT_FALSE(parse_receipt(text)) << text;
  }
  const std::string_view nul("{}\0", 3);
  EXPECT_FALSE(parse_receipt(nul));
}

TEST(ReceiptParse, EveryPrefixOfAReceiptIsNone) {
  for (std::size_t length = 0; length < kPlain.size(); ++length) {
    EXPECT_FALSE(parse_receipt(kPlain.substr(0, length))) << length;
  }
}

TEST(ReceiptParse, IsNotLedIntoTheDepth) {
  std::string deep = "{\"a\": ";
  deep.append(100000, '[');
  EXPECT_FALSE(parse_receipt(deep));
  std::string closed = "{\"a\": " + std::string(12, '[') + std::string(12, ']') + "}";
  EXPECT_TRUE(parse_receipt(closed));
}

}  // namespace
}  // namespace quietus
