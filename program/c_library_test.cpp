#include "program/c_library.hpp"

#include <gtest/gtest.h>

namespace quietus {
namespace {

using namespace std::string_view_literals;

TEST(GlibcVersion, StandsInTheBanner) {
  EXPECT_EQ(
      glibc_version("\0ld.so (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\n\0"sv),
      "2.36");
  EXPECT_EQ(glibc_version("GNU C Library (GNU libc) stable release version 2.17, by Roland"),
            "2.17");
  EXPECT_EQ(glibc_version("GNU C Library (GNU libc) development release version 2.40.9000."),
            "2.40");
}

TEST(GlibcVersion, IsNotGuessed) {
  EXPECT_EQ(glibc_version(""), "");
  EXPECT_EQ(glibc_version("GLIBC_2.36\0GLIBC_PRIVATE"sv), "");
  EXPECT_EQ(glibc_version("stable release version "), "");
  EXPECT_EQ(glibc_version("stable release version x.1"), "");
  EXPECT_EQ(glibc_version("stable release version 2"), "");
  EXPECT_EQ(glibc_version("stable release version 2."), "");
  EXPECT_EQ(glibc_version("stable release version 2.x"), "");
}

TEST(MuslVersion, IsAStringOfItsOwn) {
  EXPECT_EQ(musl_version("oc/self/fd/\0001.2.3\0Unsupported"sv), "1.2.3");
  EXPECT_EQ(musl_version("\x01\x7f"
                         "1.1.24\0musl libc"sv),
            "1.1.24");
  EXPECT_EQ(musl_version("1.2.4_git20230717\0"sv), "1.2.4_git20230717");
  EXPECT_EQ(musl_version("\0001.2.5-git-3-gabc\0"sv), "1.2.5-git-3-gabc");
}

TEST(MuslVersion, IsNotWhatOnlyLooksLikeOne) {
  EXPECT_EQ(musl_version(""), "");
  EXPECT_EQ(musl_version("127.0.0.1\0"sv), "");
  EXPECT_EQ(musl_version("\0001.2\0"sv), "");
  EXPECT_EQ(musl_version("\0001.2.\0"sv), "");
  EXPECT_EQ(musl_version("\0001..3\0"sv), "");
  EXPECT_EQ(musl_version("\0001.2.3.4\0"sv), "");
  EXPECT_EQ(musl_version("\0001.2.3 of something\0"sv), "");
  EXPECT_EQ(musl_version("\0002.1.2.3\0"sv), "");
  EXPECT_EQ(musl_version("\0001.2.3_a_name_that_is_far_too_long_for_it\0"sv), "");
}

TEST(MuslVersion, IsNotGuessedWhereTwoAreSaid) {
  EXPECT_EQ(musl_version("\0001.2.3\0001.2.4\0"sv), "");
  EXPECT_EQ(musl_version("\0001.2.3\0001.2.3\0"sv), "1.2.3");
}

TEST(MuslVersion, OfTruncatedBytesIsTheirEnd) { EXPECT_EQ(musl_version("\0001.2.3"sv), "1.2.3"); }

}  // namespace
}  // namespace quietus
