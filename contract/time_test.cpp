#include "contract/time.hpp"

#include <gtest/gtest.h>

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr Moment at(Span span) { return Moment(span); }
// The latest moment that a machine can tell: it has been up for 146 years.
constexpr Moment kLatest = at(kForever - 1ns);

TEST(Deadline, NeverComesUnlessItIsSet) {
  constexpr Deadline never;
  EXPECT_FALSE(never.passed(at(0s)));
  EXPECT_FALSE(never.passed(kLatest));
  EXPECT_EQ(never.left(kLatest), std::nullopt);
}

TEST(Deadline, HasPassedAtItsOwnMoment) {
  constexpr Deadline deadline = Deadline::at(at(5s));
  EXPECT_FALSE(deadline.passed(at(5s - 1ns)));
  EXPECT_TRUE(deadline.passed(at(5s)));
  EXPECT_TRUE(deadline.passed(at(6s)));
}

TEST(Deadline, TellsWhatIsLeftAndNeverLessThanNothing) {
  constexpr Deadline deadline = Deadline::after(at(2s), 3s);
  EXPECT_EQ(deadline.left(at(2s)), Span(3s));
  EXPECT_EQ(deadline.left(at(5s - 1ns)), Span(1ns));
  EXPECT_EQ(deadline.left(at(5s)), Span::zero());
  EXPECT_EQ(deadline.left(kLatest), Span::zero());
}

TEST(Deadline, ForeverNeverComesAndTheLongestSpanDoesNotOverflow) {
  EXPECT_EQ(Deadline::after(at(1s), kForever).left(at(1s)), std::nullopt);
  EXPECT_EQ(Deadline::after(at(1s), Span::max()).left(at(1s)), std::nullopt);
  const Deadline longest = Deadline::after(kLatest, kForever - 1ns);
  EXPECT_FALSE(longest.passed(kLatest));
  EXPECT_EQ(longest.left(kLatest), kForever - 1ns);
}

TEST(Deadline, TheEarlierOfTwo) {
  constexpr Deadline never;
  constexpr Deadline soon = Deadline::at(at(1s));
  constexpr Deadline late = Deadline::at(at(2s));
  EXPECT_EQ(earlier(soon, late).left(at(0s)), Span(1s));
  EXPECT_EQ(earlier(late, soon).left(at(0s)), Span(1s));
  EXPECT_EQ(earlier(never, late).left(at(0s)), Span(2s));
  EXPECT_EQ(earlier(late, never).left(at(0s)), Span(2s));
  EXPECT_EQ(earlier(never, never).left(at(0s)), std::nullopt);
}

}  // namespace
}  // namespace quietus
