// docs/adapters.md: its example runs as it stands there, and it names every key and placeholder.
#include <gmock/gmock.h>

#include "adapters/adapter_scene.hpp"

namespace adapter_tests {
namespace {

using testing::HasSubstr;

std::string page() { return harness::read_file(QUIETUS_SOURCE_FOLDER "/docs/adapters.md"); }

std::string example() {
  const std::string text = page();
  const std::string open = "```toml\n";
  const std::size_t begin = text.find(open);
  if (begin == std::string::npos) return {};
  return text.substr(begin + open.size(), text.find("```\n", begin + 1) - begin - open.size());
}

class AdapterPage : public AdapterScene {};

TEST_F(AdapterPage, HasAnExampleThatRuns) {
  const auto greeter = adapter(example(), "docs/adapters.md");
  harness::write_file(path("name.txt"), "world\n");
  AdapterRun with = prepared();
  with.input = path("name.txt");
  const Ran ran = session_of(*greeter, with);
  ASSERT_TRUE(succeeded(ran.result)) << ran.log;
  EXPECT_EQ(ran.result->text, "hello, world");
  EXPECT_THAT(page(), HasSubstr("Its result is `hello, world`, and `logs/logs/today.log`"));
  EXPECT_EQ(fetched(ran.collected, into() + "/logs/logs/today.log"), "done\n");
  EXPECT_EQ(harness::read_file(work() + "/settings.json"), R"({ "greeting": "hello" })");
  EXPECT_THAT(problems(ran.collected), testing::IsEmpty());
}

// The errors list what there is; the page must not know less.
TEST_F(AdapterPage, NamesEveryKeyAndPlaceholder) {
  const std::string text = page();
  const std::string base = "name = 'a'\ncommand = { argv = ['a'] }\n";
  const auto listed = [](const std::string& toml, std::string_view from) {
    const auto parsed = parse_adapter(toml, "x");
    if (parsed) throw std::runtime_error("accepted: " + toml);
    std::string names = parsed.error().message;
    names = names.substr(names.rfind(from) + from.size());
    names = names.substr(0, names.find(';'));
    Words words = harness::split(names, ',');
    for (std::string& word : words) word = word.substr(word.find_first_not_of(' '));
    return words;
  };
  for (const std::string& wrong :
       {base + "zz = 1", base + "params.a.zz = 1", base + "[[install]]\nzz = 1",
        base + "[[files]]\nzz = 1", std::string("name = 'a'\ncommand.zz = 1"),
        base + "[[artifacts]]\nzz = 1", base + "result.zz = 1"}) {
    const Words keys = listed(wrong, "here there are ");
    EXPECT_GE(keys.size(), 2u) << wrong;
    for (const std::string& key : keys) EXPECT_THAT(text, HasSubstr(key)) << wrong;
  }
  const Words names = listed("name = 'a'\ncommand.argv = ['{zz}']", "there are ");
  EXPECT_EQ(names.size(), 6u);
  for (const std::string& name : names) EXPECT_THAT(text, HasSubstr('`' + name + '`'));
}

}  // namespace
}  // namespace adapter_tests
