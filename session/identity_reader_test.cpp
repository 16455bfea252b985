#include "session/identity_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "supervisor/identity.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

TEST(IdentityReader, ReadsWhatTheSupervisorWrites) {
  sys::Gate gate;
  Options options;
  options.timeout = 90s;
  const std::string text = identity_json(gate, getppid(), getpid(), options);
  const Identity identity = parse_identity(text);
  ASSERT_EQ(identity.halves.size(), 2u) << text;
  EXPECT_EQ(identity.halves[0].pid, getppid());
  EXPECT_EQ(identity.halves[1].pid, getpid());
  EXPECT_GT(identity.halves[1].start_ticks, 0u);
  EXPECT_EQ(identity.timeout, 90s);
  ASSERT_TRUE(identity.started);
  EXPECT_GT(*identity.started, 0s);
}

TEST(IdentityReader, LeavesOutAHalfWithoutAStartTime) {
  // What is written where there is no /proc.
  sys::Gate gate;
  const std::string text = identity_json(gate, 1 << 30, getpid(), Options{});
  const Identity identity = parse_identity(text);
  EXPECT_TRUE(identity.halves.empty() || identity.halves[0].pid != 1 << 30) << text;
  EXPECT_EQ(identity.timeout, std::nullopt);
}

TEST(IdentityReader, TakesNoNumberThatIsNone) {
  for (const char* text :
       {"", "{", "nonsense", "{\"pid\": }", "{\"pid\": 5}", "{\"pid\": -5, \"start_ticks\": 1}",
        "{\"pid\": 0, \"start_ticks\": 1}", "{\"pid\": 99999999999, \"start_ticks\": 1}",
        "{\"pid\": 1.5, \"start_ticks\": 1}", "{\"pid\": 5, \"start_ticks\": 1.5}",
        "{\"pid\": 5, \"start_ticks\": 99999999999999999999999}",
        "{\"pid\": \"5\", \"start_ticks\": \"1\"}", "{\"pid\":5,\"start_ticks\":1}"}) {
    EXPECT_TRUE(parse_identity(text).halves.empty()) << text;
  }
}

TEST(IdentityReader, NeverGivesASpanThatOverflows) {
  for (const char* number : {"99999999999999999999999999", "9223372036854775807", "1e9", "."}) {
    const std::string text =
        std::string("{\"started_monotonic\": ") + number + ", \"timeout_seconds\": " + number + "}";
    const Identity identity = parse_identity(text);
    EXPECT_LE(identity.started.value_or(Span::zero()), kForever) << text;
    EXPECT_LE(identity.timeout.value_or(Span::zero()), kForever) << text;
  }
}

}  // namespace
}  // namespace quietus
