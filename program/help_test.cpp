#include "program/help.hpp"

#include <gtest/gtest.h>

#include "contract/report.hpp"
#include "harness/json.hpp"
#include "program/option_table.hpp"
#include "quietus_version.hpp"

namespace quietus {
namespace {

constexpr std::pair<std::string_view, unsigned> kVerbs[] = {
    {"", kBare},
    {"run", kRun},
    {"launch", kLaunch},
    {"stop", kStop},
    {"wait", kWait},
    {"status", kStatus},
    {"create", kOtherSession},
    {"expire", kOtherSession},
    {"renew", kOtherSession},
    {"remove", kOtherSession},
    {"probe", kProbe},
    {"doctor", kDoctor},
};

TEST(Help, IsNarrowerThanATerminal) {
  for (const auto& [verb, bit] : kVerbs) {
    const std::string text = help_text(verb);
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = text.find('\n', at);
      ASSERT_NE(end, std::string::npos) << verb << ": the last line does not end";
      EXPECT_LT(end - at, 80u) << verb << ": " << text.substr(at, end - at);
      EXPECT_FALSE(end > at && text[end - 1] == ' ') << verb << ": " << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(Help, ShowsTheOptionsOfTheVerbAndNoOther) {
  for (const auto& [verb, bit] : kVerbs) {
    const std::string text = help_text(verb);
    for (const OptionSpec& spec : option_table()) {
      const std::string shown = "  --" + std::string(spec.name);
      const std::string lettered = std::string(", --") + std::string(spec.name);
      const auto stands = [&](const std::string& words) {
        for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) {
          const char after = text[at + words.size()];
          if (after == ' ' || after == '\n' || after == '[') return true;
        }
        return false;
      };
      const bool there = stands(shown) || stands(lettered);
      EXPECT_EQ(there, (spec.verbs & bit) != 0) << "'" << verb << "' --" << spec.name;
    }
  }
}

TEST(Version, IsOneLineForPeopleAndAnObjectForPrograms) {
  EXPECT_EQ(version_text(), "quietus " + std::string(kVersion) + "\n");
  const auto json = harness::Json::parse(version_json());
  EXPECT_EQ(json.text("/name"), "quietus");
  EXPECT_EQ(json.text("/version"), kVersion);
  EXPECT_EQ(json.text("/commit"), kCommit);
  EXPECT_EQ(json.integer("/report_schema_version"), kReportVersion);
  EXPECT_TRUE(json.text("/libc") == "glibc" || json.text("/libc") == "musl");
  EXPECT_TRUE(json.text("/machine") == "x86_64" || json.text("/machine") == "aarch64");
}

}  // namespace
}  // namespace quietus
