#include "cli/help.hpp"

#include <gtest/gtest.h>

#include "cli/option_table.hpp"

namespace quietus::cli {
namespace {

std::vector<std::string> topics() {
  std::vector<std::string> all = {"", "sandboxes"};
  for (const VerbSpec& spec : verb_table()) all.emplace_back(spec.word);
  return all;
}

TEST(CtlHelp, IsNarrowerThanATerminal) {
  for (const std::string& topic : topics()) {
    const std::string text = help_text(topic);
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
      end = text.find('\n', at);
      ASSERT_NE(end, text.npos) << topic << ": the last line does not end";
      EXPECT_LE(end - at, 80u) << topic << ": " << text.substr(at, end - at);
      EXPECT_FALSE(end > at && text[end - 1] == ' ') << topic << ": " << text.substr(at, end - at);
    }
  }
}

TEST(CtlHelp, NamesEveryOptionOfItsVerb) {
  for (const VerbSpec& verb : verb_table()) {
    const std::string text = help_text(verb.word);
    for (const OptionSpec& option : option_table()) {
      const bool named = text.find(" --" + std::string(option.name)) != text.npos;
      if ((option.verbs & bit(verb.verb)) != 0) {
        EXPECT_TRUE(named) << verb.word << " --" << option.name;
      }
    }
  }
}

TEST(CtlHelp, NoTwoOptionsShareALetter) {
  std::string letters;
  for (const OptionSpec& option : option_table()) {
    if (option.letter == 0) continue;
    EXPECT_EQ(letters.find(option.letter), letters.npos) << option.letter;
    letters += option.letter;
  }
}

}  // namespace
}  // namespace quietus::cli
