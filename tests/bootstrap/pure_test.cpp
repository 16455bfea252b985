// What is judged without a sandbox: answers, manifests, ELF files, versions.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <regex>
#include <set>

#include "bootstrap/scene.hpp"
#include "client/bootstrap/download.hpp"
#include "client/bootstrap/words.hpp"

namespace bootstrap_tests {
namespace {

// --- answers of a shell -------------------------------------------------------------------------

constexpr const char* kDebian =
    "noise of a profile\nT begin\nT kernel Linux\nT machine x86_64\nT uid 0\nT page_size 4096\n"
    "T library glibc 2.36 /lib64/ld-linux-x86-64.so.2\n"
    "T library glibc 2.36 /lib/ld-linux-x86-64.so.2\n"
    "T directory yes no 1000 /tmp\nT directory yes yes 2000 /var/tmp\nT end\n";

std::string with(std::string text, std::string_view old, std::string_view fresh) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  if (at != std::string::npos) text.replace(at, old.size(), fresh);
  return text;
}

TEST(ShellAnswer, TellsThePlatform) {
  const auto answers = parse_shell_answers(kDebian, "T");
  ASSERT_TRUE(succeeded(answers));
  EXPECT_TRUE(answers->missing.empty());
  const Platform& platform = answers->platform;
  EXPECT_EQ(platform.text(), "Linux x86_64, glibc 2.36");
  EXPECT_EQ(platform.uid, 0);
  EXPECT_EQ(platform.page_size, 4096u);
  ASSERT_EQ(platform.libraries.size(), 1u) << "the same loader by two names is one";
  ASSERT_EQ(platform.directories.size(), 2u);
  EXPECT_EQ(platform.directories[0].why, "runs no programs (noexec)");
  ASSERT_NE(platform.usable(2000 << 10), nullptr);
  EXPECT_EQ(platform.usable(2000 << 10)->path, "/var/tmp");
  EXPECT_EQ(platform.usable((2000 << 10) + 1), nullptr);
}

TEST(ShellAnswer, HasTheNamesOfBothMachines) {
  for (const auto& [said, meant] : {std::pair("x86_64", "x86_64"), std::pair("amd64", "x86_64"),
                                    std::pair("aarch64", "aarch64"), std::pair("arm64", "aarch64"),
                                    std::pair("riscv64", "riscv64")}) {
    const auto answers = parse_shell_answers(std::string("T machine ") + said + "\nT end\n", "T");
    ASSERT_TRUE(succeeded(answers));
    EXPECT_EQ(answers->platform.machine, meant);
  }
}

// Upstream took an empty answer for the host's own machine.
TEST(ShellAnswer, NamesWhatIsMissing) {
  const std::pair<const char*, const char*> lines[] = {
      {"T kernel Linux\n", "kernel name (uname -s)"},
      {"T machine x86_64\n", "machine (uname -m)"},
      {"T uid 0\n", "uid (id -u)"},
      {"T page_size 4096\n", "page size (getconf PAGESIZE)"},
      {"T end\n", "the end of the answers"}};
  for (const auto& [line, missing] : lines) {
    const auto answers = parse_shell_answers(with(kDebian, line, ""), "T");
    ASSERT_TRUE(succeeded(answers));
    EXPECT_EQ(answers->missing, Words{missing});
    // An answer without a value is none.
    const std::string key = std::string(line).substr(0, std::string(line).find(' ', 2) + 1);
    if (key == "T end\n") continue;
    const auto empty = parse_shell_answers(with(kDebian, line, key + "\n"), "T");
    ASSERT_TRUE(succeeded(empty));
    EXPECT_EQ(empty->missing, Words{missing});
  }
  const std::pair<const char*, const char*> holes[] = {
      {"T directory yes yes 2000 /var/tmp", "T directory yes yes - /var/tmp"},
      {"T directory yes yes 2000 /var/tmp", "T directory yes unknown 2000 /var/tmp"},
      {"T library glibc 2.36 /lib64", "T library glibc - /lib64"}};
  const char* const missing[] = {"free space of /var/tmp (df -Pk)",
                                 "whether /var/tmp runs programs",
                                 "version of glibc (/lib64/ld-linux-x86-64.so.2)"};
  for (std::size_t at = 0; at < std::size(holes); ++at) {
    std::string text = with(kDebian, holes[at].first, holes[at].second);
    if (at == 2) text = with(text, "T library glibc 2.36 /lib/", "T library glibc - /lib/");
    const auto answers = parse_shell_answers(text, "T");
    ASSERT_TRUE(succeeded(answers)) << at;
    EXPECT_EQ(answers->missing, Words{missing[at]});
  }
}

TEST(ShellAnswer, NamesWhatContradictsItself) {
  const std::pair<std::string, const char*> texts[] = {
      {with(kDebian, "T end", "T machine aarch64\nT end"), "its machine is x86_64 and aarch64"},
      {with(kDebian, "T end", "T page_size 16384\nT end"), "its page_size is 4096 and 16384"},
      {with(kDebian, "2.36 /lib/", "2.31 /lib/"), "its glibc is 2.36 by"},
      {with(kDebian, "T machine x86_64", "T machine aarch64"),
       "its machine is aarch64, and its only C library is /lib"},
      {with(kDebian, "page_size 4096", "page_size 4095"), "its page size is '4095'"},
      {with(kDebian, "page_size 4096", "page_size four"), "its page size is 'four'"},
      {with(kDebian, "uid 0", "uid root"), "its uid is 'root'"},
      {with(kDebian, "yes yes 2000", "no yes 2000"), "which cannot be written"},
      {with(kDebian, "library glibc 2.36", "library bionic 9"), "a C library 'bionic 9'"},
      {with(kDebian, "T uid", "T moon"), "'moon', which was not asked"}};
  for (const auto& [text, words] : texts) {
    EXPECT_TRUE(failed(parse_shell_answers(text, "T"), ErrorKind::sandbox, words)) << text;
  }
}

TEST(ShellAnswer, PassesOverTheLoadersOfOtherMachines) {
  const auto answers = parse_shell_answers(
      with(kDebian, "T end", "T library musl - /lib/ld-musl-aarch64.so.1\nT end"), "T");
  ASSERT_TRUE(succeeded(answers));
  EXPECT_EQ(answers->platform.text(), "Linux x86_64, glibc 2.36");
  EXPECT_TRUE(answers->missing.empty());
}

TEST(ShellAnswer, HoldsNothingThatOthersPrinted) {
  const auto answers = parse_shell_answers(
      "machine mips\nTT machine mips\nxT machine mips\nT machine x86_64\nT end\n", "T");
  ASSERT_TRUE(succeeded(answers));
  EXPECT_EQ(answers->platform.machine, "x86_64");
}

// --- answers of quietus probe -------------------------------------------------------------------

constexpr const char* kProbe = R"({"schema": "quietus-probe", "kernel": "Linux",
 "machine": "aarch64", "page_size": 65536, "uid": 7, "c_library": "musl",
 "c_libraries": [{"name": "musl", "version": "1.2.3", "loader": "/lib/ld-musl-aarch64.so.1"}],
 "directories": [{"path": "/tmp", "free_bytes": 10, "write": {"works": true},
                  "execute": {"works": false}},
                 {"path": "/work", "free_bytes": 4096, "write": {"works": true},
                  "execute": {"works": true}}]})";

TEST(ProbeAnswer, TellsThePlatform) {
  const auto platform = parse_probe_answer(kProbe);
  ASSERT_TRUE(succeeded(platform));
  EXPECT_EQ(platform->text(), "Linux aarch64, musl 1.2.3");
  EXPECT_EQ(platform->page_size, 65536u);
  EXPECT_EQ(platform->uid, 7);
  EXPECT_EQ(platform->usable(4096)->path, "/work");
  EXPECT_EQ(platform->usable(4097), nullptr);
}

TEST(ProbeAnswer, NamesWhatIsMissingOrContradictsItself) {
  const std::tuple<const char*, const char*, const char*> changes[] = {
      {R"("kernel": "Linux")", R"("kernel": null)", "its kernel"},
      {R"("machine": "aarch64")", R"("machine": "")", "its machine"},
      {R"("page_size": 65536)", R"("page_size": null)", "its page_size"},
      {R"("uid": 7)", R"("uid": "7")", "its uid"},
      {R"("version": "1.2.3")", R"("version": null)", "its version of musl"},
      {R"("free_bytes": 4096)", R"("free_bytes": -1)", "its free_bytes"},
      {R"("c_library": "musl")", R"("c_library": "none")", "no C library, and musl"},
      {R"("machine": "aarch64")", R"("machine": "x86_64")", "its only C library is /lib/ld-musl-a"},
      {"quietus-probe", "another", "not what quietus probe"}};
  for (const auto& [old, fresh, words] : changes) {
    EXPECT_TRUE(failed(parse_probe_answer(with(kProbe, old, fresh)), ErrorKind::sandbox, words));
  }
  for (const char* text : {"", "{", "[]", "null", "{\"schema\": 3}"}) {
    EXPECT_TRUE(failed(parse_probe_answer(text), ErrorKind::sandbox)) << text;
  }
}

// --- manifests ----------------------------------------------------------------------------------

const std::string kDigest(64, 'a');
const std::string kManifest =
    "name = \"tool\"\nversion = \"1.0\"\n[[target]]\nmachine = \"amd64\"\n"
    "url = \"https://h/t.tar.gz\"\nsha256 = \"" +
    kDigest + "\"\nmember = \"t/tool\"\n";

TEST(Manifest, IsRead) {
  const auto manifest = parse_manifest(kManifest, "tool.toml");
  ASSERT_TRUE(succeeded(manifest));
  EXPECT_EQ(manifest->name, "tool");
  ASSERT_EQ(manifest->targets.size(), 1u);
  EXPECT_EQ(manifest->targets[0].machine, "x86_64");
  EXPECT_EQ(manifest->targets[0].library, "static");
  EXPECT_EQ(manifest->targets[0].sha256, kDigest);
}

TEST(Manifest, IsRefusedWithItsLine) {
  const std::tuple<std::string, std::string, std::string> changes[] = {
      {"name = \"tool\"\n", "", "'name' is missing"},
      {"\"tool\"", "\"../tool\"", "plain file name"},
      {"\"tool\"", "\"a/b\"", "plain file name"},
      {"\"tool\"", "\"-rf\"", "plain file name"},
      {"\"tool\"", "7", "must be a text"},
      {"\"tool\"", "\"a\\nb\"", "on one line"},
      {"version = \"1.0\"", "vrsion = \"1.0\"", "'vrsion' is not a key"},
      {"url =", "link =", "'link' is not a key"},
      {"https://h/", "ftp://h/", "'url' must start with"},
      {"https://h/", "file://h/", "'url' must start with"},
      {"https://h/t.tar.gz", "https://", "'url' must start with"},
      {kDigest, kDigest.substr(1), "64 hexadecimal digits"},
      {kDigest, std::string(64, 'A'), "64 hexadecimal digits"},
      {"t/tool", "../tool", "'member' must be a path"},
      {"t/tool", "/t/tool", "'member' must be a path"},
      {"[[target]]", "[target]", "no [[target]]"},
      {"member =", "library = \"bionic\"\nmember =", "static, glibc or musl"},
      {"member =", "library_version = \"2.17\"\nmember =", "has no 'library_version'"},
      {"[[target]]", "expect = \"tool\"\n[[target]]", "needs a 'check'"},
      {"[[target]]", "check = [1]\n[[target]]", "list of words"},
      {"[[target]]", "[[target", "line 3"}};
  for (const auto& [old, fresh, words] : changes) {
    const auto manifest = parse_manifest(with(kManifest, old, fresh), "tool.toml");
    EXPECT_TRUE(failed(manifest, ErrorKind::input, words)) << old;
    EXPECT_TRUE(failed(manifest, ErrorKind::input, "manifest 'tool.toml', line ")) << old;
  }
  // toml++ 3.3 ends the program at the first, unless its assertions are off, and anything may
  // happen at the second.
  EXPECT_TRUE(failed(parse_manifest("[$", "t"), ErrorKind::input, "line 1: "));
  for (const char* text : {"a = 1\nA6\xef\xba\xba, ", "a = 1\n[[\x01t]]", "# \n\x7f"}) {
    EXPECT_TRUE(failed(parse_manifest(text, "t"), ErrorKind::input, "line 2: a manifest holds"));
  }
  const std::string twice = kManifest + kManifest.substr(kManifest.find("[[target]]"));
  EXPECT_TRUE(failed(parse_manifest(twice, "t"), ErrorKind::input, "two targets for x86_64"));
}

// The digests of the publisher's list, whose place the manifest names.
TEST(Manifest, OfUvIsPinnedAndStatic) {
  const ToolManifest& uv = uv_manifest();
  EXPECT_EQ(uv.name, "uv");
  EXPECT_NE(uv.digests_from.find("astral-sh/setup-uv@"), std::string::npos);
  ASSERT_EQ(uv.targets.size(), 2u);
  for (const ToolTarget& target : uv.targets) {
    EXPECT_EQ(target.library, "static");
    EXPECT_EQ(target.sha256.size(), 64u);
    EXPECT_EQ(target.url, "https://github.com/astral-sh/uv/releases/download/" + uv.version +
                              "/uv-" + target.machine + "-unknown-linux-musl.tar.gz");
    EXPECT_EQ(target.member, "uv-" + target.machine + "-unknown-linux-musl/uv");
  }
}

Platform platform_of(std::string machine, std::vector<SandboxLibrary> libraries = {}) {
  return {.kernel = "Linux", .machine = std::move(machine), .libraries = std::move(libraries)};
}
const SandboxLibrary kGlibc236{"glibc", "2.36", "/lib64/ld-linux-x86-64.so.2"};

TEST(Target, IsTheStaticOneWhateverTheLibrary) {
  ToolManifest manifest{.name = "tool", .version = "1.0"};
  manifest.targets = {{.machine = "x86_64", .library = "glibc", .url = "glibc"},
                      {.machine = "x86_64", .url = "static"},
                      {.machine = "aarch64", .url = "arm"}};
  for (const auto& libraries : {std::vector<SandboxLibrary>{},
                                {kGlibc236},
                                {{"musl", "1.2.3", "/lib/ld-musl-x86_64.so.1"}}}) {
    const auto target = choose_target(manifest, platform_of("x86_64", libraries));
    ASSERT_TRUE(succeeded(target));
    EXPECT_EQ(target->url, "static");
  }
  EXPECT_EQ(choose_target(manifest, platform_of("aarch64"))->url, "arm");
}

TEST(Target, OfALibraryNeedsItsVersion) {
  ToolManifest manifest{.name = "tool", .version = "1.0"};
  manifest.targets = {{.machine = "x86_64", .library = "glibc", .library_version = "2.36"}};
  EXPECT_TRUE(succeeded(choose_target(manifest, platform_of("x86_64", {kGlibc236}))));
  manifest.targets.front().library_version = "2.37";
  EXPECT_TRUE(failed(choose_target(manifest, platform_of("x86_64", {kGlibc236})),
                     ErrorKind::sandbox, "there are x86_64 glibc 2.37"));
}

TEST(Target, ThatIsNotThereIsAnErrorThatListsThoseThatAre) {
  const auto target = choose_target(uv_manifest(), platform_of("riscv64"));
  EXPECT_TRUE(failed(target, ErrorKind::sandbox,
                     "no build of uv 0.11.12 is known for Linux riscv64, no C library; there are "
                     "x86_64 static, aarch64 static"));
  Platform other = platform_of("x86_64");
  other.kernel = "FreeBSD";
  EXPECT_TRUE(failed(choose_target(uv_manifest(), other), ErrorKind::sandbox, "FreeBSD"));
}

// --- programs -----------------------------------------------------------------------------------

TEST(Elf, OfOurOwnBuildsIsStatic) {
  for (const char* machine : {"x86_64", "aarch64"}) {
    const auto needs = read_elf(harness::read_file(musl_build(machine)), "quietus");
    ASSERT_TRUE(succeeded(needs));
    EXPECT_EQ(needs->machine, machine);
    EXPECT_EQ(needs->interpreter, "");
    EXPECT_TRUE(needs->libraries.empty());
    EXPECT_EQ(why_not_reused(*needs, platform_of(machine)), "");
  }
}

TEST(Elf, OfTheHostsShellNeedsItsGlibc) {
  const auto needs = read_elf(harness::read_file("/bin/sh"), "sh");
  ASSERT_TRUE(succeeded(needs));
  EXPECT_NE(needs->interpreter, "");
  EXPECT_NE(std::ranges::find(needs->libraries, "libc.so.6"), needs->libraries.end());
  ASSERT_TRUE(compare_versions(needs->glibc, "2.2")) << needs->glibc;
  EXPECT_GT(*compare_versions(needs->glibc, "2.2"), 0);
}

// Upstream's rule for the host's own binary, with the version that it lacked.
TEST(Elf, IsReusedOnlyWhereItIsKnownToRun) {
  ElfNeeds needs{.machine = "x86_64",
                 .interpreter = "/lib64/ld-linux-x86-64.so.2",
                 .glibc = "2.36",
                 .libraries = {"libc.so.6", "libm.so.6"}};
  EXPECT_EQ(why_not_reused(needs, platform_of("x86_64", {kGlibc236})), "");
  EXPECT_NE(why_not_reused(needs, platform_of("aarch64")), "");
  EXPECT_NE(why_not_reused(needs, platform_of("x86_64")), "");
  EXPECT_NE(
      why_not_reused(needs, platform_of("x86_64", {{"musl", "1.2.3", "/lib/ld-musl-x86_64.so.1"}})),
      "");
  Platform other = platform_of("x86_64", {kGlibc236});
  other.kernel = "FreeBSD";
  EXPECT_NE(why_not_reused(needs, other), "");
  needs.glibc = "2.37";
  EXPECT_EQ(why_not_reused(needs, platform_of("x86_64", {kGlibc236})),
            "it needs glibc 2.37, the sandbox has 2.36");
  needs.glibc = "PRIVATE";
  EXPECT_NE(why_not_reused(needs, platform_of("x86_64", {kGlibc236})), "");
  needs.glibc = "2.4";  // less than 2.36, as a number and not as a text
  EXPECT_EQ(why_not_reused(needs, platform_of("x86_64", {kGlibc236})), "");
  needs.interpreter = "/nix/store/glibc/lib/ld-linux-x86-64.so.2";
  EXPECT_NE(why_not_reused(needs, platform_of("x86_64", {kGlibc236})), "");
  needs.interpreter = kGlibc236.loader;
  needs.libraries.emplace_back("libssl.so.3");
  EXPECT_NE(why_not_reused(needs, platform_of("x86_64", {kGlibc236})), "");
}

TEST(Elf, ThatIsBrokenIsAnErrorAndNothingWorse) {
  const std::string good = harness::read_file("/bin/sh");
  EXPECT_TRUE(failed(read_elf("", "x"), ErrorKind::input, "no ELF program"));
  EXPECT_TRUE(failed(read_elf("#!/bin/sh\n", "x"), ErrorKind::input, "no ELF program"));
  for (std::size_t size = 0; size < good.size(); size += 1 + size / 3) {
    (void)read_elf(good.substr(0, size), "cut");
  }
  // Every byte of the headers at its worst: whatever it says, nothing outside is read.
  for (std::size_t at = 16; at < 1024; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(0xff);
    (void)read_elf(bad, "bad");
  }
  std::string narrow = good;
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_TRUE(failed(read_elf(narrow, "x"), ErrorKind::input, "64-bit"));
}

TEST(Versions, AreComparedByTheirNumbers) {
  EXPECT_EQ(compare_versions("2.36", "2.4"), 1);
  EXPECT_EQ(compare_versions("2.36", "2.36.0"), 0);
  EXPECT_EQ(compare_versions("2", "2.1"), -1);
  EXPECT_EQ(compare_versions("2.x", "2.1"), std::nullopt);
  EXPECT_EQ(compare_versions("", "2.1"), std::nullopt);
}

TEST(Url, IsMirroredByItsHostAndShownWithoutItsPassword) {
  EXPECT_EQ(mirrored("https://u:p@h:8/x/y", "http://m/base/"), "http://m/base/h:8/x/y");
  EXPECT_EQ(mirrored("https://h/x@y", "http://m"), "http://m/h/x@y");
  EXPECT_EQ(mirrored("https://h/x", ""), "https://h/x");
  EXPECT_EQ(mirrored("file:///x", "http://m"), "file:///x");
  EXPECT_EQ(shown_url("https://u:p@h/x"), "https://h/x");
  EXPECT_EQ(shown_url("https://h/x@y"), "https://h/x@y");
}

// --- the page -----------------------------------------------------------------------------------

TEST(Page, NamesTestsThatExist) {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int suite = 0; suite < all.total_test_suite_count(); ++suite) {
    const testing::TestSuite& one = *all.GetTestSuite(suite);
    for (int at = 0; at < one.total_test_count(); ++at) {
      names.insert(std::string(one.name()) + '.' + one.GetTestInfo(at)->name());
    }
  }
  const std::string page = harness::read_file(BOOTSTRAP_SOURCES "/../../docs/bootstrap.md");
  const std::regex named("`([A-Z][A-Za-z]+\\.[A-Z][A-Za-z0-9]+)`");
  int found = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), named), end; at != end; ++at, ++found) {
    EXPECT_EQ(names.count((*at)[1]), 1u) << (*at)[1];
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace bootstrap_tests
