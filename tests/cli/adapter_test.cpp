// run --adapter: a harness that one file describes.
#include "ctl_scene.hpp"

namespace cli_tests {
namespace {

class CtlAdapter : public CtlScene {};

TEST_F(CtlAdapter, TheInstalledOneForAnyCommand) {
  const Ended ended = does({"run", "-a", "command", "--", "sh", "-c", "echo out; exit 4"});
  EXPECT_EQ(ended.status, 4) << ended.text();
  EXPECT_EQ(ended.out.rfind("out\n", 0), 0u) << ended.text();
}

TEST_F(CtlAdapter, OneOfAFileStagesRunsAndIsRead) {
  write_file(path("input"), "question");
  write_file(path("a.toml"), R"(name = "answerer"
[params.word]
description = "what it answers"
[command]
argv = ["sh", "-c", 'cat "$1"; echo "\"$2\"" >answer.json', "sh", "{input}", "{param.word}"]
[[artifacts]]
glob = "answer.json"
[result]
read = "json"
file = "answer.json"
)");
  const Ended ended = does({"run", "--json", "--adapter", path("a.toml"), "--input", path("input"),
                            "--param", "word=yes", "-C", path(""), "--into", path("got")});
  EXPECT_EQ(ended.status, 0) << ended.text();
  const Json json = Json::parse(ended.out);
  EXPECT_EQ(json.text("/output"), "question");
  EXPECT_EQ(json.text("/result"), "yes");
  EXPECT_EQ(json.size("/artifacts"), 1u);
}

TEST_F(CtlAdapter, OneThatIsNotThereIsOneLine) {
  for (const std::string& name : {std::string("nothing"), path("nothing.toml")}) {
    const Ended ended = does({"run", "-a", name, "--", "true"});
    EXPECT_EQ(ended.status, 2) << ended.text();
    EXPECT_TRUE(one_line(ended.err));
    EXPECT_TRUE(holds(ended.err, "argument --adapter: "));
  }
}

}  // namespace
}  // namespace cli_tests
