// What quietusctl says before it does anything: refusals, help, settings and where they came from.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "ctl_scene.hpp"

namespace cli_tests {
namespace {

class CtlUsage : public CtlScene {
 protected:
  void refuses(const Words& words, const std::string& part) {
    const Ended ended = does(words, 20);
    EXPECT_EQ(ended.status, 2) << ended.text();
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(one_line(ended.err));
    EXPECT_EQ(ended.err.rfind("quietusctl: ", 0), 0u) << ended.err;
    EXPECT_TRUE(holds(ended.err, part));
  }
};

TEST_F(CtlUsage, EveryWrongValueIsOneLineAndChangesNothing) {
  refuses({}, "expected a verb");
  refuses({"bogus"}, "unknown verb 'bogus'");
  refuses({"run", "--bogus"}, "unknown option '--bogus'");
  refuses({"run", "-s", "bogus:x", "true"}, "argument --sandbox: sandbox 'bogus:x'");
  refuses({"run", "-s", "podman:", "true"}, "argument --sandbox: sandbox 'podman:'");
  refuses({"run", "--sandbox=", "true"}, "argument --sandbox: must be the name of a sandbox");
  refuses({"run", "-t", "0", "true"}, "argument --timeout: must be finite and positive");
  refuses({"run", "-t", "1y", "true"}, "not '1y'");
  refuses({"run", "-k", "nan", "true"}, "argument --close-timeout: must be finite and positive");
  refuses({"run", "--max-artifact", "1MB", "true"}, "argument --max-artifact: must be a number");
  refuses({"run", "--output-limit", "0", "true"}, "argument --output-limit: must be a number");
  refuses({"run", "--output-limit", "2GiB", "true"}, "1GiB at most");
  refuses({"run", "--shield", "yes", "true"}, "argument --shield: must be auto, off, try");
  refuses({"run", "--session-parent", "tmp", "true"}, "must be an absolute path, not 'tmp'");
  refuses({"run", "-j", "0", "true"}, "argument --parallel: must be a number from 1");
  refuses({"run", "--payload", "/nothing", "true"}, "argument --payload: the payload '/nothing'");
  refuses({"batch", path("nothing")}, "cannot read");
  refuses({"list", "x"}, "list: expected");
}

TEST_F(CtlUsage, AVariableAndAFileAreNamedAsThePlaceOfAWrongValue) {
  variables_["QUIETUS_TIMEOUT"] = "soon";
  refuses({"run", "true"}, "QUIETUS_TIMEOUT: must be finite and positive");
  variables_.erase("QUIETUS_TIMEOUT");
  variables_["QUIETUS_SANDBOX"] = "bogus";
  refuses({"run", "true"}, "QUIETUS_SANDBOX: sandbox 'bogus'");
  variables_["XDG_CONFIG_HOME"] = path("config");
  mkdir(path("config").c_str(), 0700);
  mkdir(path("config/quietus").c_str(), 0700);
  write_file(path("config/quietus/config.toml"), "\nparallel = \"many\"\n");
  refuses({"config"}, "config.toml:2: parallel: must be a number from 1 to 10000, not 'many'");
  write_file(path("config/quietus/config.toml"), "[[[");
  refuses({"config"}, "config.toml:1: ");
}

TEST_F(CtlUsage, WithoutASandboxItSaysWhatIsNeeded) {
  variables_.erase("QUIETUS_SANDBOX");
  for (const char* verb : {"run", "exec"}) refuses({verb, "true"}, "argument --sandbox: is needed");
  refuses({"doctor"}, "argument --sandbox: is needed");
}

TEST_F(CtlUsage, ConfigShowsWhereEachValueCameFrom) {
  mkdir(path("home").c_str(), 0700);
  mkdir(path("home/.config").c_str(), 0700);
  mkdir(path("home/.config/quietus").c_str(), 0700);
  const std::string file = path("home/.config/quietus/config.toml");
  write_file(file,
             "timeout = \"5m\"\nmax_artifact = \"1MiB\"\n[program]\npodman = \"podman -x\"\n");
  variables_["QUIETUS_MAX_ARTIFACT"] = "2MiB";
  const Ended text = does({"config", "--origin", "-j", "3"});
  EXPECT_EQ(text.status, 0) << text.text();
  EXPECT_TRUE(holds(text.out, "timeout = 5m    # " + file + ":1: timeout\n"));
  EXPECT_TRUE(holds(text.out, "max_artifact = 2MiB    # QUIETUS_MAX_ARTIFACT\n"));
  EXPECT_TRUE(holds(text.out, "parallel = 3    # argument --parallel\n"));
  EXPECT_TRUE(holds(text.out, "program.podman = podman -x    # " + file + ":4: podman\n"));
  EXPECT_TRUE(holds(text.out, "close_timeout = 30s    # default\n"));
  const Json json = Json::parse(does({"config", "--origin", "--json"}).out);
  EXPECT_EQ(json.text("/timeout/value"), "5m");
  EXPECT_EQ(json.text("/sandbox/origin"), "QUIETUS_SANDBOX");
  EXPECT_EQ(json.texts("/program.podman/value"), (Words{"podman", "-x"}));
  const Ended plain = does({"config"});
  EXPECT_EQ(plain.out.find('#'), std::string::npos) << plain.out;
}

TEST_F(CtlUsage, HelpAndVersionNeedNothing) {
  variables_ = {};
  const Ended help = does({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_TRUE(holds(help.out, "Usage: quietusctl VERB"));
  EXPECT_TRUE(holds(does({"run", "--help"}).out, "Usage: quietusctl run --sandbox S"));
  EXPECT_TRUE(holds(does({"help", "sandboxes"}).out, "podman-image:IMAGE"));
  EXPECT_EQ(does({"--version"}).out.rfind("quietusctl ", 0), 0u);
  const Json json = Json::parse(does({"version", "--json"}).out);
  EXPECT_EQ(json.text("/name"), "quietusctl");
}

TEST_F(CtlUsage, AnAnswerThatCannotBeWrittenIsAnError) {
  Launch launch = ctl({"config"});
  launch.out = open("/dev/full", O_WRONLY | O_CLOEXEC);
  const Ended ended = end_of(launch);
  EXPECT_EQ(ended.status, 125);
  EXPECT_EQ(ended.err, "quietusctl: cannot write standard output: No space left on device\n");
}

TEST_F(CtlUsage, AFileThatCannotBeReadIsToldWithItsReason) {
  std::filesystem::create_directories(path("folder"));
  for (const Words& words : {Words{"batch", "-s", "local"}, Words{"receipt"}}) {
    for (const auto& [file, why] : {std::pair("folder", "Is a directory"),
                                    std::pair("nothing", "No such file or directory")}) {
      const Ended ended = does(words + Words{path(file)});
      EXPECT_TRUE(ended.status == 2 || ended.status == 125) << ended.text();
      EXPECT_TRUE(one_line(ended.err)) << ended.text();
      EXPECT_TRUE(holds(ended.err, "cannot read '" + path(file) + "': " + why)) << ended.text();
    }
  }
  variables_["XDG_CONFIG_HOME"] = path("config");
  std::filesystem::create_directories(path("config/quietus/config.toml"));
  const Ended config = does({"list"});
  EXPECT_EQ(config.status, 2) << config.text();
  EXPECT_TRUE(holds(config.err, "config.toml': Is a directory")) << config.text();
}

// --- receipt ----------------------------------------------------------------------------------

TEST_F(CtlUsage, ReceiptExplainsAReceiptToAPerson) {
  write_file(path("r"), exactly(true, -9, std::nullopt, true));
  const Ended ended = does({"receipt", path("r")});
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_TRUE(holds(ended.out, "Cleanup: confirmed."));
  EXPECT_TRUE(holds(ended.out, "died of SIGKILL; its time was over."));
  const Json json = Json::parse(does({"receipt", "--json", path("r")}).out);
  EXPECT_EQ(json.integer("/exit_code"), 124);
  EXPECT_EQ(json.text("/kind"), "receipt");
}

TEST_F(CtlUsage, ReceiptExplainsTheReportOfARealRun) {
  const Ended run = end_of(Scenario::run({}, {"sh", "-c", "exit 5"}));
  ASSERT_EQ(run.status, 5) << run.text();
  const Ended ended = does({"receipt", path("report.json")});
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_TRUE(holds(ended.out, "Command: exited with 5."));
  EXPECT_TRUE(holds(ended.out, "How that is known: "));
  EXPECT_EQ(Json::parse(does({"receipt", "--json", path("report.json")}).out).text("/kind"),
            "report");
}

TEST_F(CtlUsage, ReceiptTellsTheUnconfirmedAndTheUnreadableApart) {
  write_file(path("r"), exactly(false, std::nullopt, "one is left", false));
  EXPECT_EQ(does({"receipt", path("r")}).status, 123);
  write_file(path("r"), "no receipt");
  const Ended broken = does({"receipt", path("r")});
  EXPECT_EQ(broken.status, 125);
  EXPECT_TRUE(one_line(broken.err));
  EXPECT_EQ(does({"receipt", path("nothing")}).status, 125);
  EXPECT_TRUE(Json::parse(does({"receipt", "--json", path("nothing")}).out).has("/error"));
}

}  // namespace
}  // namespace cli_tests
