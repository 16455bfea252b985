#include "cli/render.hpp"

#include <gtest/gtest.h>

namespace quietus::cli {
namespace {

SessionResult a_result() {
  SessionResult result;
  result.id = std::string(32, 'a');
  result.sandbox = "local";
  result.receipt = Receipt{.cleanup_confirmed = true, .return_code = 0};
  result.exit_code = 0;
  result.released = true;
  result.seconds = 2.14;
  return result;
}

TEST(CtlRender, TheEndOfASession) {
  SessionResult result = a_result();
  EXPECT_EQ(session_text(result), "local: exited with 0 after 2.1 s; cleanup confirmed");
  result.report = nlohmann::json{{"proof", "no-children-left"}};
  result.receipt->timed_out = true;
  result.receipt->return_code = -15;
  result.collection.artifacts = {{"/a", "a", 1024}, {"/b", "b", 1024}};
  EXPECT_EQ(session_text(result),
            "local: died of SIGTERM after 2.1 s, at its deadline; cleanup confirmed "
            "(no-children-left); 2 artifacts, 2.0 KiB");
  result = a_result();
  result.receipt->cleanup_confirmed = false;
  result.receipt->error = "one is left";
  EXPECT_EQ(session_text(result),
            "local: exited with 0 after 2.1 s; cleanup NOT confirmed; one is left");
}

TEST(CtlRender, ASessionWithoutAReceiptSaysWhy) {
  SessionResult result = a_result();
  result.receipt.reset();
  result.error = Error{ErrorKind::sandbox, "no such container", "look"};
  EXPECT_EQ(session_text(result).find("local: no such container"), 0u);
}

TEST(CtlRender, JsonOfASessionHasEveryKeyAlways) {
  const nlohmann::json full = session_json(a_result());
  const nlohmann::json bare = session_json(SessionResult{});
  ASSERT_EQ(full.size(), bare.size());
  for (const auto& [key, value] : full.items()) EXPECT_TRUE(bare.contains(key)) << key;
  EXPECT_EQ(full["receipt"]["return_code"], 0);
  EXPECT_TRUE(bare["receipt"].is_null());
}

TEST(CtlRender, JsonIsOneLineWhateverBytesComeBack) {
  const std::string line = json_line({{"output", "a\n\xff\xfe\x1b"}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(nlohmann::json::accept(line));
}

TEST(CtlRender, TheStatusLineFitsTheTerminal) {
  SessionView view{.elapsed = 83,
                   .phase = "running",
                   .deadline_left = 517,
                   .processes = 12,
                   .cpu_seconds = 75,
                   .rss_kib = 2048};
  EXPECT_EQ(status_line(view, 200),
            "running  1 m 23 s  8 m 37 s left  12 processes  cpu 1 m 15 s  mem 2.0 MiB");
  for (std::size_t width : {0u, 1u, 5u, 40u, 80u}) {
    EXPECT_LE(status_line(view, width).size(), width == 0 ? 0 : width - 1);
  }
  EXPECT_EQ(status_line({.elapsed = 1, .phase = "opening"}, 80), "opening  1.0 s");
}

TEST(CtlRender, TheBarShowsHowFarADownloadIs) {
  EXPECT_EQ(progress_line("uv 1", 5 << 20, 10 << 20, 80),
            "uv 1  [==========          ]  50 %  5.0 MiB of 10.0 MiB");
  EXPECT_EQ(progress_line("uv 1", 5 << 20, std::nullopt, 80), "uv 1  5.0 MiB");
  // A server may send more than it said.
  EXPECT_EQ(progress_line("uv 1", 20, 10, 80), "uv 1  [====================]  100 %  20 B of 10 B");
  for (std::size_t width : {0u, 1u, 30u}) {
    EXPECT_LE(progress_line("uv 1", 5, 10, width).size(), width == 0 ? 0 : width - 1);
  }
}

TEST(CtlRender, TheListTellsTheLivingFromTheLeft) {
  LedgerEntry entry{.id = std::string(32, 'a'),
                    .sandbox = "local",
                    .command = "ma\x1bke",
                    .pid = 7,
                    .created = 100};
  std::vector<LedgerItem> items;
  items.push_back({.file = "a.json", .entry = entry, .held = true});
  entry.id = std::string(32, 'b');
  entry.reach = "podman:x";
  items.push_back({.file = "b.json", .entry = entry, .held = false});
  items.push_back({.file = "c.json", .entry = fail(ErrorKind::input, "it is no JSON object")});
  const std::string text = list_text(items, 190);
  EXPECT_NE(text.find("aaaaaaaa  1 m 30 s     pid 7          local                     ma?ke\n"),
            text.npos)
      << text;
  EXPECT_NE(text.find("gone           podman:x"), text.npos) << text;
  EXPECT_NE(text.find("c.json: it is no JSON object"), text.npos) << text;
  EXPECT_EQ(list_text({}, 0), "no sessions\n");
}

}  // namespace
}  // namespace quietus::cli
