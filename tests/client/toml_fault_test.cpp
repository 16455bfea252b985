// What toml++ 3.3 does not look at. A build with sanitizers ends where it is given such a text.
#include "quietus/toml_fault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace quietus {
namespace {

using testing::HasSubstr;

// Of each of toml++'s tables, and of its blanks; the last two it does not look up.
constexpr const char* kLetters[] = {"\u00A0", "\u00A7", "\u00E9", "\u0499", "\u1680",    "\u1731",
                                    "\u2003", "\u2028", "\u28A1", "\u3000", "\u4E00",    "\uAC00",
                                    "\uFAA7", "\uFEFB", "\uFEFF", "\uFFFD", "\U0001F600"};

bool is_looked_up(std::string_view letter) { return letter < "\uFF00"; }

std::string faulty(const std::string& toml) {
  const auto fault = find_toml_fault(toml);
  if (!fault) return toml::parse(toml) ? "accepted" : "accepted, and does not parse";
  EXPECT_EQ(fault->rule.find('\n'), std::string::npos) << fault->rule;
  return std::to_string(fault->line) + ": " + fault->rule;
}

TEST(TomlFault, IsNotInATextOrAComment) {
  for (const std::string letter : kLetters) {
    for (const std::string& toml :
         {"a = '" + letter + "'", "a = \"x" + letter + "\"", "# " + letter, "a = 1 #" + letter,
          "\"" + letter + "\" = 1", "a.'" + letter + "' = 1", "a = [\"" + letter + "\"]",
          "a = { b = '" + letter + "' }", "a = '''\n" + letter + "'''",
          "a = \"\"\"\n" + letter + "\"\"\"", "a = \"\"\"\\\n  x" + letter + "\"\"\"",
          "a = \"\\\\\"\nb = '" + letter + "'"}) {
      EXPECT_EQ(faulty(toml), "accepted") << toml;
    }
  }
  EXPECT_EQ(faulty(""), "accepted");
  EXPECT_EQ(faulty("\uFEFFa = 1"), "accepted") << "a byte order mark";
}

TEST(TomlFault, IsALetterBeyondAsciiInAWord) {
  for (const std::string letter : kLetters) {
    for (const std::string& line :
         {letter, letter + " = 1", "b = " + letter, "b = 1" + letter, "b = tru" + letter,
          "b = 1979-05-27T" + letter, "[" + letter + "]", "[b" + letter + "]", "b = [" + letter,
          "b = { " + letter + " = 1 }"}) {
      EXPECT_THAT(faulty("a = 1\n" + line), HasSubstr("2: ")) << line;
    }
    // A quote in the middle of a word begins no text, whatever it looks like.
    for (const std::string& word :
         {"2\"" + letter + "\"", "2'" + letter + "'", "2=\"" + letter + "\"", "2['" + letter + "']",
          "-\"" + letter + "\"", "1e'" + letter + "'", "true\"" + letter + "\"",
          "inf='" + letter + "'", "0x\"" + letter + "\"", "1979-05-27\"" + letter + "\"",
          "2{'" + letter + "' = 1}", "@\"" + letter + "\"", "2.'" + letter + "'"}) {
      EXPECT_THAT(faulty("a = 1\nb = " + word), HasSubstr("2: ")) << word;
      EXPECT_THAT(faulty("a = 1\nb = [" + word + "]"), HasSubstr("2: ")) << word;
      EXPECT_THAT(faulty("a = 1\nb = { c = " + word + " }"), HasSubstr("2: ")) << word;
    }
  }
}

TEST(TomlFault, IsALetterBeyondAsciiBehindABackslash) {
  for (const std::string letter : kLetters) {
    EXPECT_THAT(faulty("a = 1\nb = \"\\" + letter + "\""), HasSubstr("2: ")) << letter;
    EXPECT_THAT(faulty("a = 1\nb = \"\"\"\\" + letter + "\"\"\""), HasSubstr("2: ")) << letter;
    for (const std::string between : {"\n", " \t\n", "\n\n \t", "\r\n"}) {
      const std::string said = faulty("a = \"\"\"x\\" + between + letter + "\"\"\"");
      if (is_looked_up(letter)) {
        EXPECT_THAT(said, HasSubstr(": a letter beyond ASCII must not be the first behind a \\"));
      } else {
        EXPECT_EQ(said, "accepted") << letter;
      }
    }
  }
}

TEST(TomlFault, TellsTheLetterThatWasWritten) {
  EXPECT_THAT(faulty("a = \"\\\u00E9\""), HasSubstr("'\\\u00E9'"));
  EXPECT_THAT(faulty("'\u00E9' = 1\n'\u00E9' = 2"), HasSubstr("\u00E9"));
}

TEST(TomlFault, IsToldOnOneLine) {
  for (const char* toml : {"a = tr\n", "a = 1e\r\n", "a = \"x\n\"", "a = '\x01'", "a b\nc"}) {
    EXPECT_THAT(faulty(toml), HasSubstr("1: ")) << toml;
  }
}

TEST(TomlFault, IsWhatIsNoUtf8) {
  for (const char* bytes : {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF5\x80",
                            "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_THAT(faulty(std::string("a = '") + bytes + "'"), HasSubstr("1: ")) << bytes;
    EXPECT_THAT(faulty(std::string("a = ") + bytes), HasSubstr("1: ")) << bytes;
  }
}

TEST(TomlFault, IsAHeaderWithoutAName) {
  for (const char* header : {"[", "[=", "[[=", "[#", "[.a]", "[ ]", "[[[", "[]", "[&", "[$"}) {
    EXPECT_EQ(faulty(std::string("\n") + header), "2: a table header must have a name behind its [")
        << header;
  }
  EXPECT_EQ(faulty("a = [\n[1],\n[2]]\n"), "accepted");
}

}  // namespace
}  // namespace quietus
