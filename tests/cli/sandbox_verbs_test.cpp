// exec, put, get and doctor.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "ctl_scene.hpp"

namespace cli_tests {
namespace {

namespace fs = std::filesystem;

class CtlSandboxVerbs : public CtlScene {};

TEST_F(CtlSandboxVerbs, ExecPassesBothStreamsAndTheExitCode) {
  const Ended ended = does({"exec", "--", "sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(ended.status, 7) << ended.text();
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
}

// As env(1) does: the code alone may be the command's own.
TEST_F(CtlSandboxVerbs, ExecSaysWhyACommandCannotBeStarted) {
  write_file(path("text"), "no program");
  const std::tuple<Words, int, std::string> cases[] = {
      {{path("nothing")}, 127, "cannot start '" + path("nothing") + "': No such file"},
      {{path("text")}, 126, "cannot start '" + path("text") + "': Permission denied"},
      {{"-C", path("nowhere"), "true"}, 127, "No such file or directory"}};
  for (const auto& [words, status, why] : cases) {
    const Ended ended = does(Words{"exec"} + words);
    EXPECT_EQ(ended.status, status) << ended.text();
    EXPECT_TRUE(one_line(ended.err)) << ended.text();
    EXPECT_TRUE(holds(ended.err, why)) << ended.text();
  }
}

TEST_F(CtlSandboxVerbs, ExecEndsWhenNobodyReads) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  Launch launch = ctl({"exec", "yes"});
  launch.out = ends[1];
  const Ended ended = end_of(launch, 30);
  close(ends[1]);
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_TRUE(holds(ended.err, "cannot write standard output: Broken pipe")) << ended.text();
}

TEST_F(CtlSandboxVerbs, ExecHasADeadline) {
  const Ended ended = does({"exec", "-t", "0.3", "sleep", "60"});
  EXPECT_EQ(ended.status, 124) << ended.text();
  EXPECT_TRUE(one_line(ended.err));
  EXPECT_TRUE(ended.survivors.empty());
}

TEST_F(CtlSandboxVerbs, ExecAsJsonKeepsBytesThatAreNoText) {
  const Ended ended = does({"exec", "--json", "-E", "A=b", "-C", "/", "--", "sh", "-c",
                            "pwd; echo $A; printf '\\377' >&2; exit 3"});
  EXPECT_EQ(ended.status, 3);
  const Json json = Json::parse(ended.out);
  EXPECT_EQ(json.text("/out"), "/\nb\n");
  EXPECT_EQ(json.integer("/return_code"), 3);
}

TEST_F(CtlSandboxVerbs, PutAndGetCopyFilesAndTrees) {
  fs::create_directories(path("tree/inner"));
  write_file(path("tree/inner/x"), "content");
  EXPECT_EQ(does({"put", path("tree"), path("there")}).status, 0);
  EXPECT_EQ(read_file(path("there/inner/x")), "content");
  EXPECT_EQ(does({"get", path("there/inner/x"), path("back")}).status, 0);
  EXPECT_EQ(read_file(path("back")), "content");
  const Json json = Json::parse(does({"get", "--json", path("there"), path("back2")}).out);
  EXPECT_EQ(json.text("/to"), path("back2"));
}

TEST_F(CtlSandboxVerbs, PutAndGetGoIntoADirectoryAsCpDoes) {
  fs::create_directories(path("tree/inner"));
  fs::create_directories(path("inside"));
  fs::create_directories(path("here"));
  write_file(path("tree/inner/x"), "content");
  EXPECT_EQ(does({"put", path("tree/inner/x"), path("inside/")}).status, 0);
  EXPECT_EQ(read_file(path("inside/x")), "content");
  EXPECT_EQ(does({"put", path("tree/"), path("inside/")}).status, 0);
  EXPECT_EQ(read_file(path("inside/tree/inner/x")), "content");
  EXPECT_EQ(does({"get", path("inside/x"), path("here")}).status, 0);
  EXPECT_EQ(read_file(path("here/x")), "content");
  EXPECT_EQ(does({"get", path("inside/tree"), path("here/")}).status, 0);
  EXPECT_EQ(read_file(path("here/tree/inner/x")), "content");
}

TEST_F(CtlSandboxVerbs, ATransferThatCannotBeIsOneLineAndLeavesNothing) {
  const Ended missing = does({"get", path("nothing"), path("x")});
  EXPECT_EQ(missing.status, 125);
  EXPECT_TRUE(one_line(missing.err));
  write_file(path("large"), std::string(3000, 'x'));
  const Ended large = does({"get", "--max-artifact", "2KiB", path("large"), path("x")});
  EXPECT_EQ(large.status, 125) << large.text();
  EXPECT_FALSE(exists(path("x")));
  EXPECT_TRUE(Json::parse(does({"put", "--json", path("nothing"), path("x")}).out).has("/error"));
}

TEST_F(CtlSandboxVerbs, DoctorShowsWhatCanBePromised) {
  const Ended ended = does({"doctor"});
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_TRUE(holds(ended.out, "when we die, the command is stopped"));
  EXPECT_TRUE(holds(ended.out, "quietus doctor"));
  const Json json = Json::parse(does({"doctor", "--json"}).out);
  EXPECT_EQ(json.integer("/exit_code"), 0);
  EXPECT_TRUE(json.has("/probe/schema"));
}

}  // namespace
}  // namespace cli_tests
