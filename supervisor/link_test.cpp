#include "supervisor/link.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace quietus {
namespace {

class LinkTest : public testing::Test {
 protected:
  sys::Gate gate_;
  Link link_ = make_link(gate_).value();
};

TEST_F(LinkTest, CommandsGoDownAndNotesGoUp) {
  ASSERT_TRUE(send(gate_, link_.commands_out.get(), Command{Command::Kind::parent_gone, 7}));
  const auto command = receive<Command>(gate_, link_.commands_in.get());
  ASSERT_TRUE(command && *command);
  EXPECT_EQ((*command)->kind, Command::Kind::parent_gone);
  EXPECT_EQ((*command)->value, 7);

  Note note = Note::of(Note::Kind::recording, 124, "who");
  note.device = 5;
  note.inode = ~0ull;
  ASSERT_TRUE(send(gate_, link_.notes_out.get(), note));
  const auto got = receive<Note>(gate_, link_.notes_in.get());
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->kind, Note::Kind::recording);
  EXPECT_EQ((*got)->value, 124);
  EXPECT_EQ((*got)->device, 5u);
  EXPECT_EQ((*got)->inode, ~0ull);
  EXPECT_STREQ((*got)->text, "who");
}

TEST_F(LinkTest, NothingYetIsNotTheEnd) {
  const auto nothing = receive<Note>(gate_, link_.notes_in.get());
  ASSERT_FALSE(nothing);
  EXPECT_TRUE(sys::would_block(nothing.error()));
}

TEST_F(LinkTest, TheEndOfFileTellsThatTheOtherHalfIsGone) {
  ASSERT_TRUE(send(gate_, link_.notes_out.get(), Note::of(Note::Kind::started)));
  link_.notes_out.reset();
  const auto last = receive<Note>(gate_, link_.notes_in.get());
  ASSERT_TRUE(last && *last);
  EXPECT_EQ((*last)->kind, Note::Kind::started);
  const auto end = receive<Note>(gate_, link_.notes_in.get());
  ASSERT_TRUE(end);
  EXPECT_FALSE(*end);
}

// A half that was stopped does not read: the other one must not be held up by that.
TEST_F(LinkTest, AFullPipeHoldsNobodyUp) {
  sys::Result<sys::Unit> sent = sys::Unit{};
  int count = 0;
  while (sent && count < 1000000) {
    sent = send(gate_, link_.commands_out.get(), Command{Command::Kind::signal, 15});
    if (sent) ++count;
  }
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, EAGAIN);
  EXPECT_GT(count, 100);
  // None of them was torn apart.
  int received = 0;
  while (const auto got = receive<Command>(gate_, link_.commands_in.get())) {
    ASSERT_TRUE(*got);
    EXPECT_EQ((*got)->value, 15);
    ++received;
  }
  EXPECT_EQ(received, count);
}

TEST(Note, ALongTextIsCutAndStillEnds) {
  const Note note = Note::of(Note::Kind::done, 1, std::string(5000, 'x'));
  EXPECT_EQ(std::strlen(note.text), sizeof note.text - 1);
  const Note fits = Note::of(Note::Kind::done, 1, std::string(sizeof note.text - 1, 'y'));
  EXPECT_EQ(std::strlen(fits.text), sizeof note.text - 1);
}

}  // namespace
}  // namespace quietus
