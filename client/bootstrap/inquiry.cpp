#include "client/bootstrap/inquiry.hpp"

#include <sys/utsname.h>

#include <algorithm>

#include "client/bootstrap/scripts.hpp"
#include "client/bootstrap/words.hpp"
#include "client/src/random_token.hpp"
#include "client/src/words.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr Span kAskTime = 60s;
constexpr std::size_t kShortDigest = 16;

// Where something was refused, and why; each reason is told once.
class Refusals {
 public:
  void add(std::string where, const std::string& why) {
    for (auto& [known, places] : reasons_) {
      if (known != why) continue;
      places.push_back(std::move(where));
      return;
    }
    reasons_.emplace_back(why, std::vector<std::string>{std::move(where)});
  }
  [[nodiscard]] std::string text() const {
    std::vector<std::string> parts;
    for (const auto& [why, places] : reasons_) parts.push_back(joined(places, ", ") + ": " + why);
    return joined(parts, "; ");
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons_;
};

std::string host_machine() {
  utsname host{};
  return uname(&host) == 0 ? machine_name(host.machine) : std::string();
}

}  // namespace

struct Inquiry::Survey {
  bool has_shell = false;
  ShellAnswers answers;
};

asio::awaitable<Expected<Inquiry::Survey>> Inquiry::survey(Question question) {
  const std::string token = "q" + random_token();
  std::vector<std::string> argv = words(
      "sh", "-c", kSurveyScript, "sh", token, std::to_string((question.bytes + kSlack) >> 10),
      joined(question.folders, " "), std::move(question.name), options_.dry_run ? "" : "keep");
  for (const std::string& directory : question.directories) argv.push_back(directory);
  ExecRequest request{.argv = std::move(argv), .deadline = kAskTime, .output_cap = kAnswerCap};
  const ExecResult result = co_await sandbox_.exec(std::move(request));
  Survey survey;
  survey.has_shell = result.out.find(token) != std::string::npos;
  if (!survey.has_shell) {
    // That it could not be asked says nothing of a shell.
    if (result.error && result.error->kind != ErrorKind::sandbox) {
      co_return cannot("cannot ask what there is", sandbox_, *result.error);
    }
    co_return survey;
  }
  if (result.error) co_return cannot("cannot ask what there is", sandbox_, *result.error);
  auto answers = parse_shell_answers(result.out, token);
  if (!answers) co_return cannot("cannot use the answers", sandbox_, answers.error());
  survey.answers = std::move(*answers);
  co_return survey;
}

asio::awaitable<Expected<Asked>> Inquiry::ask(Question question) {
  const std::vector<std::string> directories = question.directories;
  for (const std::string& directory : directories) {
    const bool is_line = std::ranges::none_of(directory, [](char c) { return c == '\n'; });
    if (directory.starts_with('/') && is_line) continue;
    co_return fail(ErrorKind::input, "'" + shown_text(directory) + "' is no absolute directory");
  }
  auto surveyed = co_await survey(std::move(question));
  if (!surveyed) co_return fail(surveyed.error());
  ShellAnswers& answers = surveyed->answers;
  if (surveyed->has_shell && answers.missing.empty()) {
    co_return Asked{.platform = std::move(answers.platform),
                    .has_shell = true,
                    .present = std::move(answers.present)};
  }
  // What the shell cannot tell, our own program may.
  auto asked = co_await ask_own(directories);
  if (!surveyed->has_shell) co_return asked;
  const std::string missing = joined(answers.missing, ", its ");
  if (!asked) {
    co_return fail(Error{ErrorKind::sandbox,
                         "'" + sandbox_.name() + "' does not tell its " + missing,
                         "give it the programs that tell it, or fix what is said below"}
                       .because(asked.error()));
  }
  // Two that were asked must not differ.
  const Platform& shell = answers.platform;
  const std::pair<const std::string&, const std::string&> pairs[] = {
      {shell.kernel, asked->platform.kernel}, {shell.machine, asked->platform.machine}};
  for (const auto& [one, other] : pairs) {
    if (one.empty() || one == other) continue;
    co_return fail(ErrorKind::sandbox, "'" + sandbox_.name() +
                                           "' contradicts itself: its shell "
                                           "says " +
                                           shown_text(one) + ", its kernel " + shown_text(other));
  }
  notes_.push_back("the shell did not tell its " + missing + "; quietus probe did");
  co_return asked;
}

// By a supervisor that answers for itself: each build, in each directory, until one runs.
asio::awaitable<Expected<Asked>> Inquiry::ask_own(std::vector<std::string> directories) {
  std::vector<LocalProgram> builds = options_.supervisors;
  const std::string here = host_machine();
  std::ranges::stable_partition(builds,
                                [&](const LocalProgram& build) { return build.machine == here; });
  Refusals tried;
  for (const bool may_send : {false, true}) {
    if (may_send && options_.dry_run) break;
    for (const std::string& directory : directories) {
      for (const LocalProgram& build : builds) {
        const std::string path = path_without_shell(directory, build);
        if (may_send) {
          const TransferOptions transfer{.mode = kPlacedMode};
          const auto sent = co_await sandbox_.upload(build.path, path, transfer);
          if (!sent && is_final(sent.error())) co_return fail(sent.error());
          if (!sent) {
            tried.add(directory, sent.error().message);
            break;  // the other builds would fare alike
          }
        }
        auto platform = co_await probe_by(path, directory);
        if (platform) {
          co_return Asked{.platform = std::move(*platform),
                          .probe = path,
                          .directory = directory,
                          .sent = may_send ? build.size : 0};
        }
        if (is_final(platform.error())) co_return fail(platform.error());
        if (may_send) {
          tried.add(path + " (" + build.machine + ")", platform.error().message);
        }
      }
    }
  }
  if (options_.dry_run) {
    co_return fail(ErrorKind::sandbox,
                   "'" + sandbox_.name() +
                       "' has no shell that could be asked, and a dry run "
                       "leaves nothing inside that could",
                   "repeat it without --dry-run");
  }
  co_return fail(ErrorKind::sandbox,
                 "no program of ours runs in '" + sandbox_.name() + "': " + tried.text(),
                 "name a directory that can be written and runs programs, or mount the "
                 "supervisor into the sandbox");
}

asio::awaitable<Expected<Platform>> Inquiry::probe_by(std::string path, std::string directory) {
  // It looks at /tmp, and at its working directory.
  ExecRequest request{.argv = words(path, "probe", "--json"),
                      .cwd = directory == "/tmp" ? std::string() : directory,
                      .deadline = kAskTime,
                      .output_cap = kAnswerCap};
  const ExecResult result = co_await sandbox_.exec(std::move(request));
  if (result.error) co_return fail(*result.error);
  if (result.out.empty()) {
    const std::string said = shown_text(result.err);
    co_return fail(ErrorKind::sandbox, said.empty() ? "it does not run" : said);
  }
  co_return parse_probe_answer(result.out);
}

std::string folder_of(const std::string& digest) { return digest.substr(0, kShortDigest); }
std::string path_without_shell(const std::string& directory, const LocalProgram& program) {
  return (directory == "/" ? "" : directory) + '/' + program.name + '-' + folder_of(program.sha256);
}

bool is_final(const Error& error) {
  return error.kind == ErrorKind::cancelled || error.kind == ErrorKind::timeout ||
         error.kind == ErrorKind::transport;
}

tl::unexpected<Error> cannot(const std::string& what, const Sandbox& sandbox, const Error& why) {
  Error error{why.kind, what + " in '" + sandbox.name() + "'", why.advice};
  return fail(std::move(error).because(Error{why.kind, why.message, {}, why.cause}));
}

}  // namespace quietus
