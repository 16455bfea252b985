// Downloads and the cache, against a server that behaves as badly as servers do.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "bootstrap/children.hpp"
#include "bootstrap/roots.hpp"
#include "bootstrap/scene.hpp"
#include "harness/features.hpp"

namespace bootstrap_tests {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScript = "#!/bin/sh\necho tool 1.0\n";
constexpr const char* kArchive = "/release/tool.tar.gz";

class Fetching : public Scene {
 protected:
  Fetching() {
    options_.cache = cache();
    options_.first_pause = 10ms;
    options_.attempts = 3;
    options_.stall = 1s;
    fs::create_directories(path("outside"));
  }

  static std::vector<Member> honest(std::size_t size = 100'000) {
    return {{.path = "tool-1.0", .kind = Member::Kind::directory},
            {.path = "tool-1.0/README", .content = noise(size)},
            {.path = "tool-1.0/tool", .content = kScript}};
  }
  ToolManifest manifest(std::string sha256, std::string url = {}) {
    ToolManifest manifest{.name = "tool", .version = "1.0"};
    manifest.targets = {{.machine = "x86_64",
                         .url = url.empty() ? server_.url(kArchive) : std::move(url),
                         .sha256 = std::move(sha256),
                         .member = "tool-1.0/tool"}};
    return manifest;
  }
  Expected<Fetched> fetch(const ToolManifest& manifest) {
    return fetch_tool(manifest, manifest.targets.front(), options_);
  }
  // Of an archive that is served well.
  Expected<Fetched> fetch_members(const std::vector<Member>& members, Form form = Form::tar_gz) {
    const std::string archive = make_archive(members, form);
    server_.serve(kArchive, archive);
    return fetch(manifest(sha256_of_text(archive)));
  }
  // Nothing can be found in it, no half lies about, and nothing stands beside it.
  void expect_clean_cache() {
    EXPECT_TRUE(list_cache(cache()).empty());
    for (const char* folder : {"/tools", "/partial"}) EXPECT_EQ(tree(cache() + folder), Words{});
    EXPECT_EQ(tree(path("outside")), Words{});
    for (const auto& entry : fs::directory_iterator(fs::path(cache()).parent_path())) {
      EXPECT_TRUE(entry.path().filename() == "cache" || entry.path().filename() == "outside")
          << entry.path();
    }
  }
  void expect_no_entry() {
    EXPECT_TRUE(list_cache(cache()).empty());
    EXPECT_EQ(tree(cache() + "/partial"), Words{});
  }
  void write_manifest(const std::string& sha256) {
    harness::write_file(path("tool.toml"),
                        "name = \"tool\"\nversion = \"1.0\"\n[[target]]\n"
                        "machine = \"x86_64\"\nurl = \"" +
                            server_.url(kArchive) + "\"\nsha256 = \"" + sha256 +
                            "\"\nmember = \"tool-1.0/tool\"\n");
  }

  // What handlers wait for: longer there than the server.
  std::atomic<bool> begun_ = false;
  std::atomic<bool> slow_ = false;
  std::atomic<std::size_t> sent_ = 0;
  Server server_;
  FetchOptions options_;
};

TEST_F(Fetching, HappensOnceAndThenItIsThere) {
  const auto first = fetch_members(honest());
  ASSERT_TRUE(succeeded(first));
  EXPECT_GT(first->downloaded, 100'000u);
  EXPECT_EQ(harness::read_file(first->entry.program), kScript);
  EXPECT_TRUE(first->entry.program.starts_with(cache() + "/tools/" + first->entry.archive));
  EXPECT_TRUE(first->entry.verified);
  struct stat there {};
  ASSERT_EQ(stat(first->entry.program.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777, 0755u);

  const auto second = fetch(manifest(first->entry.archive));
  ASSERT_TRUE(succeeded(second));
  EXPECT_EQ(second->downloaded, 0u);
  EXPECT_EQ(second->entry.program, first->entry.program);
  EXPECT_EQ(server_.count(), 1u);
  ASSERT_EQ(list_cache(cache()).size(), 1u);
  EXPECT_EQ(list_cache(cache()).front().url, server_.url(kArchive));
  EXPECT_TRUE(verify_cache(cache()).empty());
  EXPECT_EQ(tree(cache() + "/partial"), Words{});
}

TEST_F(Fetching, TakesTheFormsOfReleases) {
  for (const Form form : {Form::tar_gz, Form::tar_xz, Form::zip}) {
    const auto fetched = fetch_members(honest(), form);
    ASSERT_TRUE(succeeded(fetched));
    EXPECT_EQ(harness::read_file(fetched->entry.program), kScript);
  }
  // The program itself, without an archive.
  server_.serve("/tool", kScript);
  ToolManifest plain = manifest(sha256_of_text(kScript), server_.url("/tool"));
  plain.targets.front().member.clear();
  const auto fetched = fetch(plain);
  ASSERT_TRUE(succeeded(fetched));
  EXPECT_EQ(harness::read_file(fetched->entry.program), kScript);
}

TEST_F(Fetching, WaitsForASlowServerAndTellsHowFarItIs) {
  const std::string archive = make_archive(honest(400'000));
  server_.on(kArchive, [archive](const HttpRequest&, HttpAnswer& answer) {
    answer.head(200, archive.size());
    for (std::size_t at = 0; at < archive.size(); at += archive.size() / 20) {
      std::this_thread::sleep_for(20ms);
      if (!answer.send(std::string_view(archive).substr(at, archive.size() / 20))) return;
    }
  });
  std::vector<FetchProgress> told;
  options_.on_progress = [&](const FetchProgress& progress) { told.push_back(progress); };
  ASSERT_TRUE(succeeded(fetch(manifest(sha256_of_text(archive)))));
  ASSERT_GE(told.size(), 2u);
  EXPECT_LT(told.front().received, archive.size());
  EXPECT_EQ(told.back().total, archive.size());
  EXPECT_TRUE(std::ranges::is_sorted(told, {}, &FetchProgress::received));
}

TEST_F(Fetching, LeavesAServerThatStallsAndComesBackForTheRest) {
  const std::string archive = make_archive(honest());
  server_.on(kArchive, [this, archive](const HttpRequest& request, HttpAnswer& answer) {
    if (request.count > 0) return answer.body(request, archive);
    answer.head(200, archive.size());
    answer.send(std::string_view(archive).substr(0, archive.size() / 2));
    while (!server_.is_over()) std::this_thread::sleep_for(5ms);
  });
  ASSERT_TRUE(succeeded(fetch(manifest(sha256_of_text(archive)))));
  ASSERT_EQ(server_.count(), 2u);
  EXPECT_EQ(server_.requests().at(1).from, archive.size() / 2);
  // One that says nothing at all, again and again.
  server_.on("/silent", [this](const HttpRequest&, HttpAnswer&) {
    while (!server_.is_over()) std::this_thread::sleep_for(5ms);
  });
  options_.attempts = 1;
  EXPECT_TRUE(failed(fetch(manifest(sha256_of_text("x"), server_.url("/silent"))),
                     ErrorKind::transport, "no byte came for 1 s"));
}

TEST_F(Fetching, GoesOnWhereABrokenTransferEnded) {
  const std::string archive = make_archive(honest());
  // Four pieces: more breaks than attempts, but each brought something.
  server_.on(kArchive, [this, archive](const HttpRequest& request, HttpAnswer& answer) {
    const std::size_t piece = archive.size() / 4 + 1;
    const std::string_view rest = std::string_view(archive).substr(request.from);
    if (request.has_range) {
      answer.head(206, rest.size(),
                  "Content-Range: bytes " + std::to_string(request.from) + "-" +
                      std::to_string(archive.size() - 1) + "/" + std::to_string(archive.size()) +
                      "\r\n");
    } else {
      answer.head(200, rest.size());
    }
    answer.send(rest.substr(0, piece));
    sent_ += answer.sent();
  });
  const auto fetched = fetch(manifest(sha256_of_text(archive)));
  ASSERT_TRUE(succeeded(fetched));
  EXPECT_EQ(server_.count(), 4u);
  EXPECT_TRUE(harness::eventually([&] { return sent_ >= archive.size(); }));
  EXPECT_EQ(sent_, archive.size()) << "a byte came twice";
  EXPECT_EQ(fetched->downloaded, archive.size());
}

TEST_F(Fetching, BeginsAgainWhereTheServerKnowsNoRanges) {
  const std::string archive = make_archive(honest());
  server_.on(kArchive, [archive](const HttpRequest& request, HttpAnswer& answer) {
    answer.head(200, archive.size());
    answer.send(std::string_view(archive).substr(0, request.count == 0 ? 5000 : archive.size()));
  });
  ASSERT_TRUE(succeeded(fetch(manifest(sha256_of_text(archive)))));
  EXPECT_TRUE(server_.requests().at(1).has_range);
}

TEST_F(Fetching, ComesBackAfterA503) {
  const std::string archive = make_archive(honest());
  server_.on(kArchive, [archive](const HttpRequest& request, HttpAnswer& answer) {
    if (request.count >= 2) return answer.body(request, archive);
    answer.head(503, 5);
    answer.send("busy\n");
  });
  ASSERT_TRUE(succeeded(fetch(manifest(sha256_of_text(archive)))));
  EXPECT_EQ(server_.count(), 3u);
}

TEST_F(Fetching, GivesUpOnA503ThatStays) {
  server_.on(kArchive, [](const HttpRequest&, HttpAnswer& answer) { answer.head(503, 0); });
  const auto fetched = fetch(manifest(sha256_of_text("x")));
  EXPECT_TRUE(failed(fetched, ErrorKind::transport, "the server says 503 (3 attempts)"));
  EXPECT_TRUE(failed(fetched, ErrorKind::transport, "QUIETUS_MIRROR"));
  EXPECT_EQ(server_.count(), 3u);
  EXPECT_TRUE(list_cache(cache()).empty());
}

TEST_F(Fetching, WaitsAsLongAsTheServerAsks) {
  const std::string archive = make_archive(honest());
  server_.on(kArchive, [archive](const HttpRequest& request, HttpAnswer& answer) {
    if (request.count > 0) return answer.body(request, archive);
    answer.head(429, 0, "Retry-After: 1\r\n");
  });
  const auto begin = harness::Clock::now();
  ASSERT_TRUE(succeeded(fetch(manifest(sha256_of_text(archive)))));
  EXPECT_GE(harness::seconds_since(begin), 0.5);
}

TEST_F(Fetching, AsksOnceForWhatIsNotThere) {
  const auto fetched = fetch(manifest(sha256_of_text("x")));
  EXPECT_TRUE(failed(fetched, ErrorKind::transport, "the server says 404"));
  EXPECT_EQ(server_.count(), 1u);
  expect_clean_cache();
  ::unsetenv("http_proxy");
  // No one listens at port 1.
  EXPECT_TRUE(failed(fetch(manifest(sha256_of_text("x"), "http://127.0.0.1:1/t")),
                     ErrorKind::transport, "cannot download http://127.0.0.1:1/t"));
}

TEST_F(Fetching, RefusesAnotherDigestAndIsNotPoisoned) {
  const std::string archive = make_archive(honest());
  const std::string other = make_archive({{.path = "tool-1.0/tool", .content = "evil"}});
  const std::string digest = sha256_of_text(archive);
  server_.serve(kArchive, other);
  const auto fetched = fetch(manifest(digest));
  EXPECT_TRUE(failed(fetched, ErrorKind::input, digest));
  EXPECT_TRUE(failed(fetched, ErrorKind::input, sha256_of_text(other)));
  expect_clean_cache();
  server_.serve(kArchive, archive);
  ASSERT_TRUE(succeeded(fetch(manifest(digest))));
}

// The digest is right: whoever made the manifest is wrong, or was deceived.
TEST_F(Fetching, RefusesMembersThatLeadOut) {
  const std::vector<Member> outside[] = {
      {{.path = "../../outside/escape", .content = "evil"}},
      {{.path = path("outside/escape"), .content = "evil"}},
      {{.path = "tool-1.0/../../../outside/escape", .content = "evil"}},
  };
  for (const auto& evil : outside) {
    std::vector<Member> members = honest();
    members.insert(members.end(), evil.begin(), evil.end());
    EXPECT_TRUE(failed(fetch_members(members), ErrorKind::input, "leads out"));
    expect_clean_cache();
  }
}

// A directory that is a link, and a file through it: no name of the archive becomes a path.
TEST_F(Fetching, FollowsNoLinkOfTheArchive) {
  const auto fetched = fetch_members(
      {{.path = "tool-1.0", .content = path("outside"), .kind = Member::Kind::symlink},
       {.path = "tool-1.0/tool", .content = kScript}});
  ASSERT_TRUE(succeeded(fetched));
  EXPECT_EQ(tree(path("outside")), Words{});
  EXPECT_EQ(harness::read_file(fetched->entry.program), kScript);
}

TEST_F(Fetching, RefusesALinkInThePlaceOfTheProgram) {
  for (const auto kind : {Member::Kind::symlink, Member::Kind::hardlink}) {
    harness::write_file(path("secret"), "secret");
    const auto fetched =
        fetch_members({{.path = "tool-1.0/tool", .content = path("secret"), .kind = kind}});
    EXPECT_TRUE(failed(fetched, ErrorKind::input, "has a link for 'tool-1.0/tool'"));
    fs::remove(path("secret"));
    expect_clean_cache();
  }
  EXPECT_TRUE(failed(fetch_members({{.path = "tool-1.0/tool", .kind = Member::Kind::directory}}),
                     ErrorKind::input, "has a directory for"));
  EXPECT_TRUE(failed(fetch_members({{.path = "tool-1.0/tty", .kind = Member::Kind::device}}),
                     ErrorKind::input, "is no file"));
  expect_clean_cache();
}

TEST_F(Fetching, RefusesABombOfZeros) {
  options_.most_unpacked = 8u << 20;
  constexpr std::uint64_t kZeros = std::uint64_t{12} << 20;
  const std::vector<Member> bombs[] = {
      {{.path = "tool-1.0/tool", .zeros = kZeros}},
      {{.path = "tool-1.0/tool", .content = kScript}, {.path = "tool-1.0/zeros", .zeros = kZeros}}};
  for (const auto& bomb : bombs) {
    for (const Form form : {Form::tar_gz, Form::zip}) {
      const auto fetched = fetch_members(bomb, form);
      EXPECT_TRUE(failed(fetched, ErrorKind::input, "holds more than 8388608 bytes"));
      expect_clean_cache();
    }
  }
}

TEST_F(Fetching, RefusesADownloadWithoutAnEnd) {
  options_.most_bytes = 1u << 20;
  server_.on(kArchive, [](const HttpRequest&, HttpAnswer& answer) {
    answer.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    const std::string zeros(65536, '\0');
    while (answer.send(zeros)) continue;
  });
  EXPECT_TRUE(failed(fetch(manifest(sha256_of_text("x"))), ErrorKind::input, "is larger than"));
  expect_clean_cache();
}

TEST_F(Fetching, SaysWhatTheArchiveHasInstead) {
  const auto fetched = fetch_members({{.path = "tool-1.0/README", .content = "read"},
                                      {.path = "tool-1.0/tool.txt", .content = "text"}});
  EXPECT_TRUE(failed(fetched, ErrorKind::input, "has no file 'tool-1.0/tool'"));
  EXPECT_TRUE(failed(fetched, ErrorKind::input, "it has 'tool-1.0/README', 'tool-1.0/tool.txt'"));
  expect_clean_cache();
}

TEST_F(Fetching, RefusesWhatIsNoArchive) {
  const std::string cut = make_archive(honest()).substr(0, 50'000);
  for (const std::string& body : {std::string("<html>moved</html>"), cut, std::string()}) {
    server_.serve(kArchive, body);
    const auto fetched = fetch(manifest(sha256_of_text(body)));
    EXPECT_TRUE(failed(fetched, ErrorKind::input, "the archive")) << body.size();
    expect_clean_cache();
  }
  EXPECT_TRUE(failed(fetch_members({{.path = "tool-1.0/tool", .content = kScript},
                                    {.path = "./tool-1.0//tool", .content = "evil"}}),
                     ErrorKind::input, "twice"));
}

// A program of another machine would be found out in the sandbox only.
TEST_F(Fetching, RefusesAProgramOfAnotherMachine) {
  const auto fetched = fetch_members(
      {{.path = "tool-1.0/tool", .content = harness::read_file(musl_build("aarch64"))}});
  EXPECT_TRUE(failed(fetched, ErrorKind::input, "is for aarch64, the manifest says x86_64"));
  expect_clean_cache();
}

TEST_F(Fetching, WithoutADigestIsRefusedUnlessAllowedAndThenRecorded) {
  server_.serve(kArchive, make_archive(honest()));
  EXPECT_TRUE(failed(fetch(manifest("")), ErrorKind::input, "--allow-unverified"));
  EXPECT_EQ(server_.count(), 0u);
  options_.allow_unverified = true;
  const auto fetched = fetch(manifest(""));
  ASSERT_TRUE(succeeded(fetched));
  EXPECT_FALSE(fetched->entry.verified);
  EXPECT_FALSE(list_cache(cache()).at(0).verified);
  EXPECT_NE(harness::read_file(fs::path(fetched->entry.program).parent_path() / "entry.json")
                .find("\"verified\": false"),
            std::string::npos);
  // It does not serve whoever knows the digest: that is another entry.
  const auto verified = fetch(manifest(fetched->entry.archive));
  ASSERT_TRUE(succeeded(verified));
  EXPECT_GT(verified->downloaded, 0u);
  const auto pruned = prune_cache(cache(), false, false);
  ASSERT_TRUE(succeeded(pruned));
  EXPECT_EQ(pruned->removed.size(), 1u);
  ASSERT_EQ(list_cache(cache()).size(), 1u);
  EXPECT_TRUE(list_cache(cache()).at(0).verified);
}

TEST_F(Fetching, MendsAnEntryThatWasDamaged) {
  const auto fetched = fetch_members(honest());
  ASSERT_TRUE(succeeded(fetched));
  const std::string program = fetched->entry.program;
  const std::string record = fs::path(program).parent_path() / "entry.json";
  const std::string good = harness::read_file(record);
  const std::function<void()> damages[] = {
      [&] { harness::write_file(program, "#!/bin/sh\necho tool 6.6\n"); },
      [&] { fs::permissions(program, fs::perms::owner_read); },
      [&] { fs::remove(program); },
      [&] { fs::remove(program), fs::create_symlink("/bin/sh", program); },
      [&] { harness::write_file(record, "{}"); },
      [&] { harness::write_file(record, good.substr(0, good.size() / 2)); },
  };
  for (std::size_t at = 0; at < std::size(damages); ++at) {
    SCOPED_TRACE(at);
    damages[at]();
    EXPECT_EQ(verify_cache(cache()).size(), 1u);
    const auto again = fetch(manifest(fetched->entry.archive));
    ASSERT_TRUE(succeeded(again));
    EXPECT_GT(again->downloaded, 0u);
    EXPECT_EQ(harness::read_file(program), kScript);
    EXPECT_TRUE(verify_cache(cache()).empty());
  }
  damages[0]();
  ASSERT_TRUE(succeeded(prune_cache(cache(), false, true)));
  EXPECT_EQ(verify_cache(cache()).size(), 1u) << "a dry run removed it";
  ASSERT_TRUE(succeeded(prune_cache(cache(), false, false)));
  EXPECT_TRUE(verify_cache(cache()).empty());
}

TEST_F(Fetching, GoesToTheMirrorAlone) {
  const std::string archive = make_archive(honest());
  server_.serve("/m/example.invalid/r/tool.tar.gz", archive);
  const std::string origin = "https://user:secret@example.invalid/r/tool.tar.gz";
  options_.mirror = server_.url("/m/");
  const auto fetched = fetch(manifest(sha256_of_text(archive), origin));
  ASSERT_TRUE(succeeded(fetched));
  EXPECT_EQ(fetched->entry.url, server_.url("/m/example.invalid/r/tool.tar.gz"));
  // A directory of this machine is a mirror too.
  fs::create_directories(path("mirror/example.invalid/r"));
  harness::write_file(path("mirror/example.invalid/r/tool.tar.gz"), archive);
  options_.mirror = "file://" + path("mirror");
  options_.cache = path("another");
  ASSERT_TRUE(succeeded(fetch(manifest(sha256_of_text(archive), origin))));
  options_.mirror = "file://" + path("nowhere");
  options_.cache = path("third");
  EXPECT_TRUE(failed(fetch(manifest(sha256_of_text(archive), origin)), ErrorKind::transport,
                     "cannot download file://"));
  EXPECT_TRUE(failed(fetch(manifest(sha256_of_text(archive), origin)), ErrorKind::transport,
                     "look at QUIETUS_MIRROR"));
}

TEST_F(Fetching, FollowsARedirectionButNotToAFile) {
  const std::string archive = make_archive(honest());
  server_.serve("/elsewhere", archive);
  harness::write_file(path("outside/file"), archive);
  server_.on(kArchive, [this, archive](const HttpRequest& request, HttpAnswer& answer) {
    const std::string to =
        request.count == 0 ? "file://" + path("outside/file") : server_.url("/elsewhere");
    answer.head(302, 0, "Location: " + to + "\r\n");
  });
  EXPECT_TRUE(failed(fetch(manifest(sha256_of_text(archive))), ErrorKind::transport, "file"));
  ASSERT_TRUE(succeeded(fetch(manifest(sha256_of_text(archive)))));
}

TEST_F(Fetching, ShowsItsNameFromNetrcAndNeverInMessages) {
  const std::string archive = make_archive(honest());
  server_.on(kArchive, [archive](const HttpRequest& request, HttpAnswer& answer) {
    const auto name = request.headers.find("authorization");
    // "me:mine"
    if (name != request.headers.end() && name->second == "Basic bWU6bWluZQ==") {
      return answer.body(request, archive);
    }
    answer.head(401, 0);
  });
  EXPECT_TRUE(failed(fetch(manifest(sha256_of_text(archive))), ErrorKind::transport, "401"));
  harness::write_file(path("netrc"), "machine 127.0.0.1 login me password mine\n");
  options_.netrc = path("netrc");
  ASSERT_TRUE(succeeded(fetch(manifest(sha256_of_text(archive)))));
  std::string url = server_.url("/missing");
  url.insert(url.find("//") + 2, "me:mine@");
  const auto missing = fetch(manifest(sha256_of_text("x"), url));
  ASSERT_TRUE(failed(missing, ErrorKind::transport, "404"));
  EXPECT_EQ(missing.error().text().find("mine"), std::string::npos);
}

TEST_F(Fetching, GoesThroughTheProxyOfTheEnvironment) {
  const std::string archive = make_archive(honest());
  server_.serve("http://example.invalid/tool.tar.gz", archive);
  ::setenv("http_proxy", server_.address().c_str(), 1);
  const auto fetched =
      fetch(manifest(sha256_of_text(archive), "http://example.invalid/tool.tar.gz"));
  ::unsetenv("http_proxy");
  EXPECT_TRUE(succeeded(fetched));
}

TEST_F(Fetching, CanBeCancelled) {
  server_.on(kArchive, [this](const HttpRequest&, HttpAnswer& answer) {
    answer.head(200, 1'000'000);
    answer.send("x");
    begun_ = true;
    while (!server_.is_over()) std::this_thread::sleep_for(5ms);
  });
  options_.cancelled = [this] { return begun_.load(); };
  options_.stall = 30s;
  const auto fetched = fetch(manifest(sha256_of_text("x")));
  EXPECT_TRUE(failed(fetched, ErrorKind::cancelled));
  EXPECT_TRUE(list_cache(cache()).empty());
}

TEST_F(Fetching, SaysWhereTheCacheCannotBe) {
  options_.cache = "/proc/quietus";
  const auto fetched = fetch(manifest(sha256_of_text("x")));
  EXPECT_TRUE(failed(fetched, ErrorKind::input, "XDG_CACHE_HOME"));
  options_.cache.clear();
  EXPECT_TRUE(failed(fetch(manifest(sha256_of_text("x"))), ErrorKind::input, "XDG_CACHE_HOME"));
  EXPECT_EQ(cache_directory("/x", "/home/me"), "/x/quietus");
  EXPECT_EQ(cache_directory("relative", "/home/me"), "/home/me/.cache/quietus");
  EXPECT_EQ(cache_directory("", ""), "");
}

TEST_F(Fetching, RefusesAMirrorThatIsNoUrl) {
  for (const char* mirror :
       {"mirror.example", "ftp://h/", "/srv/mirror", "file://srv", "https://"}) {
    options_.mirror = mirror;
    const auto fetched = fetch(manifest(sha256_of_text("x")));
    EXPECT_TRUE(failed(fetched, ErrorKind::input, "QUIETUS_MIRROR must start with https://"));
    EXPECT_TRUE(failed(fetched, ErrorKind::input, mirror));
  }
  EXPECT_EQ(server_.count(), 0u);
}

// At whichever byte it is full: an error that says so, no half, and the next one finds all in
// order.
TEST_F(Fetching, SaysThatTheDiskIsFullAndLeavesNothing) {
  NEEDS_ROOT();
  const Tmpfs disk(path("disk"));
  NEEDS(disk.is_mounted(), "right to mount");
  options_.cache = path("disk/cache");
  const std::string archive = make_archive({{.path = "tool-1.0/tool", .content = noise(20'000)}});
  server_.serve(kArchive, archive);
  const ToolManifest tool = manifest(sha256_of_text(archive));
  constexpr int kPage = 4096;
  // The archive and the program, five pages each, and the record.
  constexpr int kEnough = 16;
  std::size_t kept = 0;
  std::string said;
  for (int pages = 1; pages <= kEnough; ++pages) {
    SCOPED_TRACE(pages);
    fs::remove_all(options_.cache);
    ASSERT_TRUE(disk.change(0, "size=" + std::to_string(pages * kPage)));
    const auto fetched = fetch(tool);
    EXPECT_TRUE(verify_cache(options_.cache).empty());
    EXPECT_EQ(tree(options_.cache + "/partial"), Words{});
    if (fetched) {
      EXPECT_EQ(harness::read_file(fetched->entry.program), noise(20'000));
      ++kept;
      continue;
    }
    EXPECT_TRUE(failed(fetched, ErrorKind::input, "XDG_CACHE_HOME"));
    EXPECT_TRUE(list_cache(options_.cache).empty());
    said += fetched.error().text() + '\n';
    ASSERT_TRUE(disk.change(0, "size=16m"));
    EXPECT_TRUE(succeeded(fetch(tool)));
  }
  EXPECT_GE(kept, 1u);
  // Each part of the work was met by it.
  for (const char* where : {"cannot keep", "cannot unpack", "entry.json"}) {
    EXPECT_NE(said.find(where), std::string::npos) << where << " is not in\n" << said;
  }
}

TEST_F(Fetching, UsesACacheThatCannotBeWrittenForWhatIsThere) {
  NEEDS_ROOT();
  const Tmpfs disk(path("disk"));
  NEEDS(disk.is_mounted(), "right to mount");
  options_.cache = path("disk/cache");
  const auto there = fetch_members(honest());
  ASSERT_TRUE(succeeded(there));
  ASSERT_TRUE(disk.change(MS_RDONLY, "size=16m"));
  const auto again = fetch(manifest(there->entry.archive));
  ASSERT_TRUE(succeeded(again));
  EXPECT_EQ(again->entry.program, there->entry.program);
  EXPECT_TRUE(verify_cache(options_.cache).empty());
  const auto another = fetch(manifest(sha256_of_text("x")));
  EXPECT_TRUE(failed(another, ErrorKind::input, "Read-only file system"));
  EXPECT_TRUE(failed(another, ErrorKind::input, "XDG_CACHE_HOME"));
  EXPECT_TRUE(failed(prune_cache(options_.cache, true, false), ErrorKind::input, "Read-only"));
  // Whatever is not read is not called good.
  harness::write_file(path("file"), "");
  fs::create_directories(path("wrong"));
  fs::create_symlink(path("file"), path("wrong/tools"));
  EXPECT_EQ(verify_cache(path("wrong")).size(), 1u);
}

// Over HTTPS: what cannot be trusted is refused, and said to whom it is to be shown.
TEST_F(Fetching, TrustsThoseOfTheBundleAlone) {
  NEEDS(run_tool({"openssl", "version"}).worked, "openssl");
  const std::string archive = make_archive(honest());
  fs::create_directories(path("site"));
  harness::write_file(path("site/tool.tar.gz"), archive);
  const ToolRun made = run_tool({"openssl", "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec",
                                 "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=test",
                                 "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path("key"),
                                 "-out", path("certificate")});
  ASSERT_TRUE(made.worked) << made.out;
  Child server;
  server.start({"env", "--chdir=" + path("site"), "openssl", "s_server", "-accept", "127.0.0.1:0",
                "-key", path("key"), "-cert", path("certificate"), "-WWW"});
  const auto port = server.line_behind("ACCEPT 127.0.0.1:");
  ASSERT_TRUE(port) << server.output();
  const std::string url = "https://127.0.0.1:" + *port + "/tool.tar.gz";
  const auto refused = fetch(manifest(sha256_of_text(archive), url));
  EXPECT_TRUE(failed(refused, ErrorKind::transport, "certificate"));
  EXPECT_TRUE(failed(refused, ErrorKind::transport, "CURL_CA_BUNDLE"));
  expect_no_entry();
  options_.ca_bundle = path("certificate");
  ASSERT_TRUE(succeeded(fetch(manifest(sha256_of_text(archive), url))));
  options_.ca_bundle = path("missing");
  options_.cache = path("another");
  EXPECT_TRUE(
      failed(fetch(manifest(sha256_of_text(archive), url)), ErrorKind::transport, path("missing")));
}

TEST_F(Fetching, OfThirtyTwoProcessesAtOnceIsOneDownload) {
  const std::string archive = make_archive(honest(1'000'000));
  server_.on(kArchive, [archive](const HttpRequest& request, HttpAnswer& answer) {
    std::this_thread::sleep_for(300ms);
    answer.body(request, archive);
  });
  write_manifest(sha256_of_text(archive));
  std::vector<ToolFetch> processes(32);
  for (ToolFetch& process : processes) process.start(path("tool.toml"), cache());
  std::size_t downloads = 0;
  for (ToolFetch& process : processes) {
    ASSERT_EQ(process.wait(), 0) << process.output();
    downloads += process.output().ends_with(" 0\n") ? 0 : 1;
  }
  EXPECT_EQ(downloads, 1u);
  EXPECT_EQ(server_.count(), 1u);
  EXPECT_EQ(list_cache(cache()).size(), 1u);
  EXPECT_TRUE(verify_cache(cache()).empty());
}

TEST_F(Fetching, SurvivesKillsOfTheDownloaderAtTwentyMoments) {
  const std::string archive = make_archive(honest(2'000'000));
  // Slow enough that the moments fall into each part of the work.
  slow_ = true;
  server_.on(kArchive, [this, archive](const HttpRequest& request, HttpAnswer& answer) {
    const std::string_view rest = std::string_view(archive).substr(request.from);
    const std::string place = "Content-Range: bytes " + std::to_string(request.from) + "-" +
                              std::to_string(archive.size() - 1) + "/" +
                              std::to_string(archive.size()) + "\r\n";
    request.has_range ? answer.head(206, rest.size(), place) : answer.head(200, rest.size());
    for (std::size_t at = 0; at < rest.size(); at += 100'000) {
      if (slow_) std::this_thread::sleep_for(5ms);
      if (!answer.send(rest.substr(at, 100'000))) return;
    }
  });
  write_manifest(sha256_of_text(archive));
  ToolFetch whole;
  auto begin = harness::Clock::now();
  whole.start(path("tool.toml"), path("measured"));
  ASSERT_EQ(whole.wait(), 0) << whole.output();
  double seconds = harness::seconds_since(begin);

  int killed = 0;
  int resumed = 0;
  for (int attempt = 0; killed < 20; ++attempt) {
    ASSERT_LT(attempt, 60) << "it is a test only if the kills come in time";
    SCOPED_TRACE(attempt);
    const std::string own = path("cache-" + std::to_string(attempt));
    ToolFetch process;
    slow_ = true;
    begin = harness::Clock::now();
    process.start(path("tool.toml"), own);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds * (killed + 0.5) / 20));
    const double moment = harness::seconds_since(begin);
    process.signal(SIGKILL);
    if (process.wait() == -SIGKILL) {
      ++killed;
    } else {
      seconds = std::min(seconds, moment);  // what was measured was slower: the machine is busy
    }
    slow_ = false;
    // Whatever is visible is whole.
    EXPECT_TRUE(verify_cache(own).empty());
    options_.cache = own;
    const auto fetched = fetch(manifest(sha256_of_text(archive)));
    ASSERT_TRUE(succeeded(fetched));
    resumed += fetched->downloaded > 0 && fetched->downloaded < archive.size() ? 1 : 0;
    EXPECT_EQ(harness::read_file(fetched->entry.program), kScript);
    EXPECT_EQ(tree(own + "/partial"), Words{});
  }
  EXPECT_GE(resumed, 1);
}

// Who holds the lock may be stopped, or hang.
TEST_F(Fetching, DoesNotWaitForAnotherForEver) {
  const auto first = fetch_members(honest());
  ASSERT_TRUE(succeeded(first));
  fs::remove_all(cache() + "/tools");
  const Words locks = tree(cache() + "/locks");
  ASSERT_EQ(locks.size(), 1u);
  const std::string lock = cache() + "/locks/" + first->entry.archive;
  const std::string held = locks.front().substr(0, locks.front().rfind(' '));
  ASSERT_TRUE(held.starts_with(lock)) << held;
  const int other = open(held.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
  options_.patience = 100ms;
  EXPECT_TRUE(failed(fetch(manifest(first->entry.archive)), ErrorKind::timeout, held));
  EXPECT_EQ(server_.count(), 1u);
  close(other);
  EXPECT_TRUE(succeeded(fetch(manifest(first->entry.archive))));
}

// The one that did the work is killed while others wait for it.
TEST_F(Fetching, IsTakenOverByOneOfThoseThatWait) {
  const std::string archive = make_archive(honest());
  server_.on(kArchive, [this, archive](const HttpRequest& request, HttpAnswer& answer) {
    if (request.count > 0) return answer.body(request, archive);
    answer.head(200, archive.size());
    answer.send(std::string_view(archive).substr(0, 1000));
    begun_ = true;
    while (!server_.is_over()) std::this_thread::sleep_for(5ms);
  });
  write_manifest(sha256_of_text(archive));
  ToolFetch first;
  first.start(path("tool.toml"), cache());
  ASSERT_TRUE(harness::eventually([this] { return begun_.load(); }, 100));
  std::vector<ToolFetch> others(4);
  for (ToolFetch& other : others) other.start(path("tool.toml"), cache());
  // What is being downloaded is not pruned.
  const auto pruned = prune_cache(cache(), true, false);
  ASSERT_TRUE(succeeded(pruned));
  EXPECT_EQ(pruned->removed, Words{});
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), -SIGKILL);
  for (ToolFetch& other : others) EXPECT_EQ(other.wait(), 0) << other.output();
  EXPECT_EQ(server_.count(), 2u);
}

}  // namespace
}  // namespace bootstrap_tests
