#include "contract/signals.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace quietus {
namespace {

TEST(Signals, AreNamedAsKillNamesThem) {
  for (const char* spelling : {"TERM", "SIGTERM", "term", "sigterm", "SigTerm", "15"}) {
    EXPECT_EQ(signal_number(spelling), SIGTERM) << spelling;
  }
  EXPECT_EQ(signal_number("RTMIN"), 34);
  EXPECT_EQ(signal_number("SIGRTMIN+3"), 37);
  EXPECT_EQ(signal_number("rtmax-1"), 63);
  EXPECT_EQ(signal_number("RTMIN+30"), 64);
  EXPECT_EQ(signal_number("RTMAX-30"), 34);
  EXPECT_EQ(signal_number("1"), 1);
  EXPECT_EQ(signal_number("64"), 64);
  EXPECT_EQ(signal_number("IOT"), SIGABRT);
  EXPECT_EQ(signal_number("POLL"), SIGIO);
  EXPECT_EQ(signal_number("CLD"), SIGCHLD);
}

TEST(Signals, OthersAreRefused) {
  for (const std::string_view spelling :
       {"",         "0",           "65",      "-1",         "+1",        "1 ",
        " 1",       "99999999999", "SIG",     "SIGSIGTERM", "TERMINATE", "TER",
        "RTMIN+31", "RTMAX-31",    "RTMIN-1", "RTMAX+1",    "RTMIN+",    "RTMIN+-1",
        "RTMIN+x",  "0x0f",        "15x",     "T\xC3\x89RM"}) {
    EXPECT_EQ(signal_number(spelling), std::nullopt) << spelling;
  }
  EXPECT_EQ(signal_number(std::string_view("TERM\0", 5)), std::nullopt);
}

TEST(Signals, EveryNumberHasANameThatLeadsBack) {
  for (int number = 1; number <= kLastSignal; ++number) {
    if (number == 32 || number == 33) continue;  // the C library keeps them
    const std::string name = signal_name(number);
    EXPECT_TRUE(name.starts_with("SIG")) << name;
    EXPECT_EQ(signal_number(name), number) << name;
  }
  EXPECT_EQ(signal_name(SIGABRT), "SIGABRT");
  EXPECT_EQ(signal_name(SIGIO), "SIGIO");
  EXPECT_EQ(signal_name(34), "SIGRTMIN");
  EXPECT_EQ(signal_name(64), "SIGRTMIN+30");
  EXPECT_EQ(signal_name(32), "signal 32");
  EXPECT_EQ(signal_name(99), "signal 99");
}

TEST(SignalSet, IsTheKernelsMask) {
  constexpr SignalSet set = SignalSet::of(1, 15, 64);
  EXPECT_EQ(set.bits(), (1ull << 0) | (1ull << 14) | (1ull << 63));
  EXPECT_TRUE(set.has(15));
  EXPECT_FALSE(set.has(16));
  SignalSet changed = set;
  changed.remove(15).add(2);
  EXPECT_FALSE(changed.has(15));
  EXPECT_TRUE(changed.has(2));
  EXPECT_EQ(SignalSet().bits(), 0u);
  EXPECT_EQ(SignalSet::all().bits(), ~0ull);
}

}  // namespace
}  // namespace quietus
