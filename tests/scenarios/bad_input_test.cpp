// Wrong command lines: one line on stderr that names the option, the value and the rule; exit 2;
// nothing started, nothing written.
#include <filesystem>

#include "harness/scenario.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

struct Bad {
  const char* option;
  std::vector<std::string> values;
  const char* rule;  // a word of the rule that must be told
};

const std::vector<std::string> kBadDurations = {"0",
                                                "0.0",
                                                "0e5",
                                                "-1",
                                                "-0",
                                                "-0.5",
                                                "nan",
                                                "NaN",
                                                "inf",
                                                "-inf",
                                                "infinity",
                                                "1e309",
                                                "1e999999999999",
                                                "",
                                                " ",
                                                "abc",
                                                "1,5",
                                                "0x10",
                                                "1 2",
                                                " 1",
                                                "1 ",
                                                "1_0",
                                                "+-1",
                                                "--5",
                                                "e5",
                                                ".",
                                                "1..5",
                                                "1e",
                                                "1e+",
                                                "5x",
                                                "5ss",
                                                "\xd9\xa1",
                                                "1\n"};

const Bad kBad[] = {
    {"--timeout", kBadDurations, ""},
    {"--cleanup-timeout", kBadDurations, ""},
    {"--signal",
     {"", "0", "65", "-1", "NOPE", "SIG", "TERM ", "9x", "SIGSIGTERM", "RTMIN+40"},
     "signal"},
    {"--descendants", {"", "none", "TREE", "keep", "tree,group"}, "tree"},
    {"--output-limit",
     {"", "0", "-1", "abc", "1.5", "10 MiB", "1TiB", "99999999999999999999", "KiB"},
     "bytes"},
    {"--rlimit",
     {"", "nofile", "nofile=", "=5", "nope=5", "nofile=-1", "nofile=x", "nofile=10:5",
      "nofile=5:", "nofile=5:6:7", "nofile=99999999999999999999999"},
     ""},
    {"--user",
     {"", "x", "-1", "1:", ":1", "1:2:3", "4294967295", "4294967296", "1.5", "root "},
     ""},
    {"--setenv", {"", "=x", "="}, ""},
    {"--unset", {"", "A=B"}, ""},
    {"--chdir", {""}, ""},
    {"--receipt", {""}, ""},
    {"--report", {""}, ""},
    {"--stop-file", {""}, ""},
    {"--expire-file", {""}, ""},
    {"--output", {""}, ""},
};

class BadInput : public Scenario {
 protected:
  void SetUp() override {
    // Whatever is written by mistake lands in an otherwise empty directory.
    fs::create_directory(path("d"));
  }
  Ended refused(const Words& words) {
    Launch launch = plain(words);
    launch.directory = path("d");
    const Ended ended = end_of(launch);
    EXPECT_EQ(ended.status, 2) << ended.text();
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(fs::is_empty(path("d"))) << "something was written";
    EXPECT_EQ(beats_.count(1), 0u) << "the worker ran";
    // One line, and nothing in it that a terminal would act on.
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_TRUE(ended.err.rfind("quietus: ", 0) == 0) << ended.err;
    for (const char c : ended.err) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 32);
    return ended;
  }
};

TEST_F(BadInput, every_wrong_value_of_every_option_is_refused_by_name_value_and_rule) {
  for (const Bad& bad : kBad) {
    for (const std::string& value : bad.values) {
      for (const bool bare_form : {true, false}) {
        for (const bool joined : {true, false}) {
          SCOPED_TRACE(std::string(bad.option) + " '" + value + "'");
          Words words = bare_form ? Words{} : Words{"run"};
          if (std::string_view(bad.option) != "--receipt") words = words + Words{"--receipt", "r"};
          if (std::string_view(bad.option) == "--output-limit")
            words = words + Words{"--output", "o"};
          words = words + (joined ? Words{bad.option + std::string("=") + value}
                                  : Words{bad.option, value});
          const Ended ended = refused(words + Words{"--"} + actor({"touch:1"}));
          EXPECT_TRUE(holds(ended.err, bad.option));
          EXPECT_TRUE(holds(ended.err, bad.rule));
          const bool printable = value.find_first_of("\n\xd9") == std::string::npos;
          if (printable) EXPECT_TRUE(holds(ended.err, "'" + value));
          EXPECT_GT(ended.err.size(), std::string(bad.option).size() + value.size() + 20)
              << "no rule is told: " << ended.err;
        }
      }
    }
  }
}

TEST_F(BadInput, units_are_for_the_run_form_only) {
  for (const char* value : {"1s", "5m", "2h", "1d", "1.5s"}) {
    const Ended ended =
        refused(Words{"--receipt", "r", "--timeout", value, "--"} + actor({"touch:1"}));
    EXPECT_TRUE(holds(ended.err, "--timeout"));
    EXPECT_TRUE(holds(ended.err, value));
  }
}

TEST_F(BadInput, unknown_options_are_named) {
  for (const char* word : {"--nope", "--nope=1", "-x", "--timeouts", "--Timeout", "---"}) {
    const Ended ended = refused(Words{"run", word, "--"} + actor({"touch:1"}));
    EXPECT_TRUE(holds(ended.err, std::string(word).substr(0, 6)));
  }
}

TEST_F(BadInput, prefixes_of_options_are_not_options) {
  for (const char* word : {"--time=5", "--rec=r", "--cleanup=5", "--stop=s", "--signal-g"}) {
    (void)refused(Words{"--receipt", "r", word, "--"} + actor({"touch:1"}));
  }
}

TEST_F(BadInput, missing_values_are_named) {
  for (const char* option : {"--timeout", "--cleanup-timeout", "--receipt", "--stop-file",
                             "--signal", "--descendants", "--output", "--chdir", "--setenv",
                             "--unset", "--rlimit", "--user", "--report", "-s", "-k", "-C", "-E"}) {
    const Ended ended = refused({"run", option});
    EXPECT_TRUE(holds(ended.err, "argument --")) << option;
  }
}

TEST_F(BadInput, values_for_options_that_take_none_are_refused) {
  for (const char* option :
       {"--isolate", "--sync", "--no-new-privs", "--clear-env", "--signal-group",
        "--die-with-parent", "--quiet", "--verbose", "--preserve-descendants-on-success"}) {
    const Ended ended =
        refused(Words{"run", std::string(option) + "=1", "--"} + actor({"touch:1"}));
    EXPECT_TRUE(holds(ended.err, option));
  }
  EXPECT_TRUE(holds(refused(Words{"run", "--shield=maybe", "--"} + actor({"touch:1"})).err, "try"));
}

TEST_F(BadInput, a_missing_command_is_told) {
  for (const Words& words : {Words{"run"}, Words{"run", "--"}, Words{"run", "--timeout", "5", "--"},
                             Words{"--receipt", "r"}, Words{"--receipt", "r", "--"}}) {
    EXPECT_TRUE(holds(refused(words).err, "command is required"));
  }
}

TEST_F(BadInput, a_missing_receipt_is_told_in_the_bare_form) {
  EXPECT_TRUE(holds(refused(Words{"--timeout", "5", "--"} + actor({"touch:1"})).err, "--receipt"));
}

TEST_F(BadInput, a_wrong_value_is_told_before_a_missing_command) {
  EXPECT_TRUE(holds(refused({"--receipt", "r", "--timeout", "-1"}).err, "--timeout"));
}

TEST_F(BadInput, contradictions_are_told) {
  for (const Words& words :
       {Words{"--isolate", "--descendants", "group"},
        Words{"--isolate", "--descendants", "keep-on-success"},
        Words{"--isolate", "--preserve-descendants-on-success"}, Words{"--output-limit", "1000"},
        Words{"--output", "o", "--output-limit", "1000", "--descendants", "group"},
        Words{"--preserve-descendants-on-success", "--descendants", "group"},
        Words{"--descendants", "group", "--preserve-descendants-on-success"},
        Words{"--receipt", "same", "--report", "same"}}) {
    (void)refused(Words{"run"} + words + Words{"--"} + actor({"touch:1"}));
  }
}

TEST_F(BadInput, a_monstrous_value_is_told_short) {
  const Ended ended =
      refused(Words{"run", "--timeout", std::string(100000, '7') + "x", "--"} + actor({"touch:1"}));
  EXPECT_LT(ended.err.size(), 500u);
}

TEST_F(BadInput, an_existing_receipt_stays_as_it_is) {
  write_file(path("r.json"), "old");
  Launch launch = bare({"--receipt", path("r.json"), "--timeout", "nan"}, actor({"touch:1"}));
  EXPECT_EQ(end_of(launch).status, 2);
  EXPECT_EQ(read_file(path("r.json")), "old");
}

TEST_F(BadInput, an_empty_command_word_is_not_found) {
  EXPECT_EQ(end_of(run({}, {""})).status, 127);
}

}  // namespace
