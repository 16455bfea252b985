#include "program/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace quietus {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kConfirmed =
    R"({"cleanup_confirmed": true, "return_code": -9, "error": null, "timed_out": false})";

Method with_receipt() { return {.shield = true, .isolate = false, .receipt = "/tmp/receipt"}; }

Demonstration good_demonstration() {
  Demonstration seen;
  seen.lived = seen.ignored = seen.ended = kEverybody;
  seen.pipe_at_end = true;
  seen.took = 12'340us;
  seen.exit_code = 122;
  seen.receipt = kConfirmed;
  seen.message =
      "quietus: the command died of SIGKILL; cause stop; cleanup confirmed: "
      "no-children-left by shield\n";
  return seen;
}

std::string doctor_text(const Place& place, const Method& method, const Demonstration& seen) {
  Page page;
  write_findings(page, place, method, seen);
  return page.text();
}

TEST(DoctorConclusion, IsReadFromTheSupervisorsWords) {
  const std::string message = good_demonstration().message;
  EXPECT_EQ(read_conclusion(message).proof, "no-children-left");
  EXPECT_EQ(read_conclusion(message).means, "shield");
  EXPECT_EQ(read_conclusion("cleanup confirmed: a by b").means, "b");
}

TEST(DoctorConclusion, IsEmptyWhereNothingWasProven) {
  for (const char* message : {"", "quietus: cause stop; cleanup not confirmed\n",
                              "cleanup confirmed: ", "cleanup confirmed: a\n by b"}) {
    EXPECT_EQ(read_conclusion(message).proof, "") << message;
    EXPECT_EQ(read_conclusion(message).means, "") << message;
  }
}

TEST(DoctorVerdict, NeedsEveryPieceOfEvidence) {
  EXPECT_TRUE(passed(with_receipt(), good_demonstration()));
  const auto without = [](auto change) {
    Demonstration seen = good_demonstration();
    change(seen);
    return passed(with_receipt(), seen);
  };
  EXPECT_FALSE(passed(with_receipt(), {}));
  for (unsigned role = 0; role < kRoleCount; ++role) {
    EXPECT_FALSE(without([&](Demonstration& seen) { seen.lived &= ~(1u << role); }));
    EXPECT_FALSE(without([&](Demonstration& seen) { seen.ended &= ~(1u << role); }));
  }
  EXPECT_FALSE(without([](Demonstration& seen) { seen.pipe_at_end = false; }));
  EXPECT_FALSE(without([](Demonstration& seen) { seen.exit_code.reset(); }));
  EXPECT_FALSE(without([](Demonstration& seen) { seen.exit_code = 0; }));
  EXPECT_FALSE(without([](Demonstration& seen) { seen.exit_code = 123; }));
  EXPECT_FALSE(without([](Demonstration& seen) { seen.receipt.clear(); }));
  EXPECT_FALSE(without([](Demonstration& seen) {
    seen.receipt = R"({"cleanup_confirmed": false, "return_code": -9})";
  }));
}

TEST(DoctorVerdict, DoesNotWantAReceiptWhereThereIsNoPlaceForOne) {
  Demonstration seen = good_demonstration();
  seen.receipt.clear();
  EXPECT_TRUE(passed({}, seen));
}

TEST(DoctorText, OfAGoodEndNamesProofMeansAndLimits) {
  const std::string text = doctor_text({}, with_receipt(), good_demonstration());
  EXPECT_THAT(text, HasSubstr("  lived, gone  a daemon in a session of its own\n"));
  EXPECT_THAT(text, HasSubstr("Asked to end, all of them lived on. Then ended in 12.34 ms.\n"));
  EXPECT_THAT(text, HasSubstr("The pipe is at its end; exit code 122.\n"));
  EXPECT_THAT(text, HasSubstr("Receipt: {\"cleanup_confirmed\": true, "));
  EXPECT_THAT(text, HasSubstr("proven by no-children-left, by means of shield:"));
  EXPECT_THAT(text, HasSubstr("What can still escape: "));
  EXPECT_THAT(text, testing::EndsWith("\nPassed.\n"));
  EXPECT_THAT(text, Not(HasSubstr("cause stop"))) << "the supervisor's own words";
}

TEST(DoctorText, KnowsEveryMeans) {
  std::vector<std::string> texts;
  for (const Means means : {Means::shield, Means::isolate, Means::cgroup, Means::sweep}) {
    Demonstration seen = good_demonstration();
    seen.message = "cleanup confirmed: no-children-left by " + std::string(name(means)) + '\n';
    std::string text = doctor_text({}, with_receipt(), seen);
    EXPECT_THAT(text, HasSubstr("by means of " + std::string(name(means)) + ":"));
    EXPECT_THAT(text, HasSubstr("What can still escape: what others start for it: "));
    const bool weaker = means == Means::cgroup || means == Means::sweep;
    EXPECT_EQ(text.find("fork\nbomb") != text.npos || text.find("fork bomb") != text.npos, weaker);
    texts.push_back(std::move(text));
  }
  std::ranges::sort(texts);
  EXPECT_EQ(std::ranges::adjacent_find(texts), texts.end());
}

TEST(DoctorText, AdmitsThatTheMeansIsNotKnown) {
  Demonstration seen = good_demonstration();
  seen.message.clear();
  EXPECT_THAT(doctor_text({}, with_receipt(), seen),
              HasSubstr("What gave the proof is not known: the supervisor could not say it.\n"));
}

TEST(DoctorText, OfWhatDidNotStartTellsWhy) {
  Demonstration seen;
  seen.not_begun({1, "fork"});
  const std::string text = doctor_text({}, with_receipt(), seen);
  EXPECT_THAT(text, HasSubstr("  NOT STARTED  a daemon in a session of its own\n"));
  EXPECT_THAT(text, HasSubstr("[Errno 1] Operation not permitted: 'fork'\n"));
  EXPECT_THAT(text, Not(HasSubstr("Asked to end")));
  EXPECT_THAT(text, testing::EndsWith("\nNo guarantee can be given here.\n\nFAILED.\n"));
}

TEST(DoctorText, OfABadEndNamesWhoLivesAndWhatWasSaid) {
  Demonstration seen = good_demonstration();
  seen.ended &= ~(1u << kHopper);
  seen.ignored = 1u << kHopper;
  seen.pipe_at_end = false;
  seen.exit_code.reset();
  seen.receipt.clear();
  seen.message = "quietus: cleanup not confirmed\n";
  const std::string text = doctor_text({}, with_receipt(), seen);
  EXPECT_THAT(text, HasSubstr("  STILL LIVES  a fork-hopper"));
  EXPECT_THAT(text, HasSubstr("  lived, gone  a command"));
  EXPECT_THAT(text, HasSubstr("Asked to end, not all of them lived on."));
  EXPECT_THAT(text, HasSubstr("The pipe is still held; exit code unknown.\nReceipt: none\n"));
  EXPECT_THAT(text, HasSubstr("quietus: cleanup not confirmed\n"));
  EXPECT_THAT(text, testing::EndsWith("\nFAILED.\n"));
}

TEST(DoctorText, StaysBelow80Columns) {
  for (const Means means : {Means::shield, Means::isolate, Means::cgroup, Means::sweep}) {
    Demonstration seen = good_demonstration();
    seen.message = "cleanup confirmed: cgroup-unpopulated by " + std::string(name(means)) + '\n';
    const std::string text = doctor_text({}, with_receipt(), seen);
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      EXPECT_LT(end - begin, 80u) << text.substr(begin, end - begin);
    }
  }
}

}  // namespace
}  // namespace quietus
