#include "program/page.hpp"

#include <gtest/gtest.h>

namespace quietus {
namespace {

std::string sized(std::uint64_t bytes) { return Page().size(bytes).text(); }
std::string shown(std::string_view text, std::size_t width) {
  return Page().shown(text, width).text();
}
std::string wrapped(std::string_view text) { return (Page() << text).wrap().text(); }

TEST(Page, SizesAreReadable) {
  EXPECT_EQ(sized(0), "0 B");
  EXPECT_EQ(sized(1023), "1023 B");
  EXPECT_EQ(sized(1024), "1.0 KiB");
  EXPECT_EQ(sized(1536), "1.5 KiB");
  EXPECT_EQ(sized((1 << 20) - 1), "1023.9 KiB");
  EXPECT_EQ(sized(std::uint64_t{79} << 30), "79.0 GiB");
  EXPECT_EQ(sized(~std::uint64_t{0}), "15.9 EiB");
}

TEST(Page, ShownTextCannotCommandATerminal) {
  EXPECT_EQ(shown("/tmp/a b", 20), "/tmp/a b");
  EXPECT_EQ(shown("/\x1b[2J\n\x7f\xc3\xa9", 20), "/?[2J????");
}

TEST(Page, ShownTextKeepsItsEnd) {
  EXPECT_EQ(shown("12345", 5), "12345");
  EXPECT_EQ(shown("123456", 5), "...56");
  EXPECT_EQ(shown("", 5), "");
}

TEST(Page, ColumnsBeginAtTheLineAndLeaveABlank) {
  Page page;
  page << "one\n  two";
  page.column(8) << "x";
  page << "\nlong word";
  page.column(4) << "y\n";
  page.column(2) << "z";
  EXPECT_EQ(page.text(), "one\n  two   x\nlong word y\n  z");
}

TEST(Page, LinesBreakAtBlanks) {
  const std::string word(30, 'w');
  EXPECT_EQ(wrapped("short"), "short\n");
  EXPECT_EQ(wrapped(word + ' ' + word + ' ' + word), word + ' ' + word + '\n' + word + '\n');
  const std::string full(Page::kWidth, 'f');
  EXPECT_EQ(wrapped(full), full + '\n');
  EXPECT_EQ(wrapped(full + " x"), full + "\nx\n");
}

TEST(Page, OneLongWordStaysWhole) {
  const std::string word(200, 'w');
  EXPECT_EQ(wrapped(word), word + '\n');
  EXPECT_EQ(wrapped("a " + word), "a\n" + word + '\n');
}

TEST(Page, WrappedLinesCanBeIndented) {
  const std::string word(40, 'w');
  Page page;
  page << "  " << word << " " << word << " " << word;
  EXPECT_EQ(page.wrap(4).text(), "  " + word + "\n    " + word + "\n    " + word + "\n");
  const std::string long_word(90, 'x');
  Page other;
  other << "a " << long_word << " b";
  EXPECT_EQ(other.wrap(4).text(), "a\n    " + long_word + " b\n");
}

TEST(Page, OnlyTheLastLineIsWrapped) {
  const std::string full(Page::kWidth, 'f');
  Page page;
  page << full << " above\n"
       << "below";
  EXPECT_EQ(page.wrap().text(), full + " above\nbelow\n");
}

}  // namespace
}  // namespace quietus
