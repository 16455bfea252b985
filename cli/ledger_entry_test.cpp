#include "cli/ledger_entry.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace quietus::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kId = "0123456789abcdef0123456789abcdef";

LedgerEntry an_entry() {
  return {.id = kId,
          .sandbox = "podman-image:busybox",
          .reach = "podman:quietus-" + std::string(kId),
          .owned = true,
          .directory = "/tmp/quietus-" + std::string(kId),
          .command = "make",
          .into = "/home/a/out",
          .programs = {{"podman", {"podman", "--runtime", "runc"}}},
          .pid = 17,
          .start_ticks = 12345678,
          .boot_id = "b",
          .created = 1700000000};
}

// The entry's JSON with one member replaced, or removed where there is no value.
std::string with(const char* key, const Json& value, bool remove = false) {
  Json json = Json::parse(ledger_json(an_entry()));
  if (remove) {
    json.erase(key);
  } else {
    json[key] = value;
  }
  return json.dump();
}

std::string refused(const std::string& text) {
  const auto entry = parse_ledger_entry(text);
  EXPECT_FALSE(entry) << "was not refused: " << text;
  return entry ? "" : entry.error().message;
}

TEST(CtlLedgerEntry, ComesBackAsItWasWritten) {
  const LedgerEntry entry = an_entry();
  const auto back = parse_ledger_entry(ledger_json(entry));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->id, entry.id);
  EXPECT_EQ(back->sandbox, entry.sandbox);
  EXPECT_EQ(back->reach, entry.reach);
  EXPECT_EQ(back->owned, entry.owned);
  EXPECT_EQ(back->directory, entry.directory);
  EXPECT_EQ(back->command, entry.command);
  EXPECT_EQ(back->into, entry.into);
  EXPECT_EQ(back->programs, entry.programs);
  EXPECT_EQ(back->pid, entry.pid);
  EXPECT_EQ(back->start_ticks, entry.start_ticks);
  EXPECT_EQ(back->created, entry.created);
}

TEST(CtlLedgerEntry, EveryMemberIsNeeded) {
  const Json json = Json::parse(ledger_json(an_entry()));
  for (const auto& [key, value] : json.items()) {
    EXPECT_FALSE(refused(with(key.c_str(), {}, true)).empty()) << key;
  }
}

TEST(CtlLedgerEntry, EveryMemberHasItsType) {
  const Json json = Json::parse(ledger_json(an_entry()));
  for (const auto& [key, value] : json.items()) {
    for (const Json& other : {Json(), Json(true), Json(1.5), Json::array({1}), Json(-1)}) {
      EXPECT_FALSE(refused(with(key.c_str(), other)).empty()) << key << ' ' << other;
    }
  }
}

// It would be cut to another process's number.
TEST(CtlLedgerEntry, NoNumberIsBeyondItsKind) {
  for (const std::int64_t pid : {std::int64_t{1} << 31, std::int64_t{49999999999}}) {
    Json controller = Json::parse(ledger_json(an_entry()))["controller"];
    controller["pid"] = pid;
    EXPECT_EQ(refused(with("controller", controller)), "controller: pid is out of range") << pid;
  }
}

TEST(CtlLedgerEntry, AnotherVersionIsNotGuessedAt) {
  EXPECT_NE(refused(with("schema_version", 2)).find("another version"), std::string::npos);
}

// What it names is removed: so it names nothing but a session directory, and this session's.
TEST(CtlLedgerEntry, NoOtherDirectoryCanBeNamed) {
  for (const char* path :
       {"/", "/etc", "tmp/quietus-0123456789abcdef0123456789abcdef", "/tmp/quietus-",
        "/tmp/quietus-0123456789abcdef0123456789abcdee", "/tmp/0123456789abcdef0123456789abcdef",
        "/tmp/quietus-0123456789abcdef0123456789abcdef/", "",
        "/tmp/../etc/quietus-0123456789abcdef0123456789abcdef",
        "/tmp/quietus-0123456789ABCDEF0123456789ABCDEF",
        "/tmp/quietus-0123456789abcdef0123456789abcdef/.."}) {
    EXPECT_FALSE(refused(with("directory", path)).empty()) << path;
  }
  EXPECT_FALSE(refused(with("id", "../../x")).empty());
  EXPECT_FALSE(refused(with("into", "relative")).empty());
}

TEST(CtlLedgerEntry, BytesThatAreNoEntryAreRefused) {
  for (const char* text : {"", "{", "[]", "null", "{}", "{\"schema\": \"other\"}", "\xff\xfe"}) {
    EXPECT_FALSE(refused(text).empty()) << text;
  }
  const std::string whole = ledger_json(an_entry());
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
    EXPECT_FALSE(parse_ledger_entry(whole.substr(0, length))) << length;
  }
  EXPECT_FALSE(refused(std::string(100000, '[')).empty());
}

TEST(CtlLedgerEntry, TheIdIsReadFromTheDirectory) {
  EXPECT_EQ(id_of_directory("/tmp/quietus-" + std::string(kId)), kId);
  EXPECT_EQ(id_of_directory("quietus-" + std::string(kId)), "");
  EXPECT_EQ(id_of_directory("/tmp/quietus-x"), "");
}

}  // namespace
}  // namespace quietus::cli
