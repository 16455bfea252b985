#include "harness/scenario.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace harness {

namespace {

// Storms with many runs ask for more.
double hard_limit() {
  const char* text = std::getenv("QUIETUS_TEST_LIMIT");
  return text != nullptr ? atof(text) : 150;
}

std::string test_name() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(info->test_suite_name()) + "." + info->name();
}

// The value of an option in either spelling; "" where it is not given.
std::string option_value(const Words& options, const std::string& name) {
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] == name && i + 1 < options.size()) return options[i + 1];
    if (options[i].rfind(name + "=", 0) == 0) return options[i].substr(name.size() + 1);
  }
  return "";
}

bool given(const Words& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(), [&](const std::string& word) {
    return word == name || word.rfind(name + "=", 0) == 0;
  });
}

std::vector<char*> pointers(const Words& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::string exactly(bool confirmed, std::optional<int> code, std::optional<std::string> error,
                    bool timed_out) {
  return ReceiptFile{confirmed, code, std::move(error), timed_out}.bytes();
}

testing::AssertionResult holds(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in '" << text << "'";
}

testing::AssertionResult receipt_is(const Ended& ended, const Want& want) {
  const auto fault = [&](const std::string& what) {
    return testing::AssertionFailure() << what << ended.text();
  };
  if (ended.hung) return fault("quietus did not end in time");
  if (!ended.receipt) return fault("no receipt");
  const ReceiptFile& receipt = *ended.receipt;
  if (want.confirmed && receipt.cleanup_confirmed != *want.confirmed) {
    return fault("cleanup_confirmed is wrong");
  }
  if (!want.codes.empty() &&
      std::find(want.codes.begin(), want.codes.end(), receipt.return_code) == want.codes.end()) {
    return fault("return_code is none of those expected");
  }
  if (want.error != Error::any && receipt.error.has_value() != (want.error == Error::some)) {
    return fault("error is wrong");
  }
  if (want.timed_out && receipt.timed_out != *want.timed_out) return fault("timed_out is wrong");
  const bool clean = receipt.cleanup_confirmed && !receipt.error;
  if (ended.form == Form::bare && ended.status >= 0 && ended.status != (clean ? 0 : 1)) {
    return fault("the exit code contradicts the receipt");
  }
  return testing::AssertionSuccess();
}

Scenario::Scenario() : watchdog_(test_name(), hard_limit()), beats_(scratch_.path("beats")) {
  become_subreaper();
}

Scenario::~Scenario() { mop_up(); }

void Scenario::TearDown() {
  if (!leftovers_allowed_) {
    for (const ProcessRow& row : living_descendants()) {
      ADD_FAILURE() << "left over by the test: " << row.text();
    }
  }
  mop_up();
  EXPECT_TRUE(descendants().empty()) << "some descendants cannot be ended";
}

Words Scenario::actor(const Words& script) const {
  return Words{actor_binary(), "bound:30000", "beats:" + beats_.path()} + script;
}

Launch Scenario::with_records(Form form, const Words& options, const Words& command) const {
  Launch launch;
  launch.form = form;
  Words words = {quietus_binary()};
  if (form == Form::run) words.push_back("run");
  words = words + options;
  if (!given(options, "--receipt")) words = words + Words{"--receipt", path("receipt.json")};
  if (form == Form::run && !given(options, "--report")) {
    words = words + Words{"--report", path("report.json")};
  }
  if (!given(options, "--cleanup-timeout") && !given(options, "-k") &&
      !given(options, "--kill-after")) {
    words = words + Words{"--cleanup-timeout", "2"};
  }
  launch.words = words + Words{"--"} + command;
  launch.receipt = option_value(launch.words, "--receipt");
  launch.report = option_value(launch.words, "--report");
  return launch;
}

Launch Scenario::bare(const Words& options, const Words& command) const {
  return with_records(Form::bare, options, command);
}

Launch Scenario::run(const Words& options, const Words& command) const {
  return with_records(Form::run, options, command);
}

Launch Scenario::reported(Launch launch) const {
  launch.report = path("report.json");
  launch.words.insert(launch.words.begin() + 1, {"--report", launch.report});
  return launch;
}

Launch Scenario::plain(const Words& words) const {
  Launch launch;
  launch.form = Form::run;
  launch.words = Words{quietus_binary()} + words;
  return launch;
}

std::string Scenario::public_copy(const std::string& binary) const {
  const std::string copy = path("public-" + std::filesystem::path(binary).filename().string());
  if (!exists(copy)) {
    std::filesystem::copy_file(binary, copy);
    std::filesystem::permissions(copy, std::filesystem::perms(0755));
  }
  return copy;
}

Launch Scenario::as_user(Launch launch, unsigned uid) const {
  for (const std::string& binary : {quietus_binary(), actor_binary()}) {
    for (std::string& word : launch.words) {
      if (word == binary) word = public_copy(binary);
    }
  }
  const std::string id = std::to_string(uid);
  launch.inner =
      Words{"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups"} + launch.inner;
  return launch;
}

Launch Scenario::in_pid_namespace(Launch launch) const {
  launch.namespace_status = path("namespace-status");
  // The number of the descriptor is filled in at the start.
  launch.outer = Words{"unshare",      "--pid",
                       "--fork",       "--kill-child",
                       "--mount-proc", actor_binary(),
                       "bound:90000",  "ns-init:" + launch.namespace_status + ":RELEASE"} +
                 launch.outer;
  return launch;
}

Running Scenario::start(Launch launch) {
  int release[2] = {-1, -1};
  if (!launch.namespace_status.empty()) {
    std::filesystem::remove(launch.namespace_status);
    if (pipe2(release, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    for (std::string& word : launch.outer) {
      const size_t place = word.find(":RELEASE");
      if (place != std::string::npos) word.replace(place + 1, 7, std::to_string(release[0]));
    }
  }
  const std::string number = std::to_string(starts_++);
  const std::string out_path = path("out-" + number);
  const std::string err_path = path("err-" + number);
  constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int in = launch.in >= 0 ? launch.in : open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = launch.out >= 0 ? launch.out : open(out_path.c_str(), kCreate, 0666);
  const int err = launch.err >= 0 ? launch.err : open(err_path.c_str(), kCreate, 0666);
  const Words words = launch.all_words();
  const std::vector<char*> argv = pointers(words);
  const Words variables = launch.environment.value_or(Words{});
  const std::vector<char*> environment = pointers(variables);
  int started[2];
  if (pipe2(started, O_CLOEXEC) != 0) throw std::runtime_error("pipe");

  // Before anything can run, so that "not earlier than" holds on a busy machine.
  const auto before = Clock::now();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("fork: ") + strerror(errno));
  if (child == 0) {
    // Descriptors above 2 may be among those that are put in place: copy first.
    const int high[3] = {fcntl(in, F_DUPFD_CLOEXEC, 200), fcntl(out, F_DUPFD_CLOEXEC, 200),
                         fcntl(err, F_DUPFD_CLOEXEC, 200)};
    for (int fd = 0; fd < 3; ++fd) dup2(high[fd], fd);
    if (release[0] >= 0) fcntl(release[0], F_SETFD, 0);
    if (!launch.directory.empty() && chdir(launch.directory.c_str()) != 0) _exit(97);
    if (launch.in_child) launch.in_child();
    if (launch.environment) {
      execvpe(argv[0], argv.data(), environment.data());
    } else {
      execvp(argv[0], argv.data());
    }
    (void)!write(started[1], &errno, sizeof errno);
    _exit(96);
  }
  // Closed by the exec: from here on a signal meets the program, not the words before it.
  close(started[1]);
  int error = 0;
  const ssize_t told = read(started[0], &error, sizeof error);
  close(started[0]);
  if (launch.in < 0) close(in);
  if (launch.out < 0) close(out);
  if (launch.err < 0) close(err);
  if (release[0] >= 0) close(release[0]);
  if (told > 0) throw std::runtime_error("cannot start " + words[0] + ": " + strerror(error));
  return Running(std::move(launch), child, before, release[1], out_path, err_path);
}

Ended Scenario::end_of(Launch launch, double seconds) {
  const bool may_leave = launch.may_leave;
  Running running = start(std::move(launch));
  Ended ended = running.wait(seconds);
  if (!may_leave) {
    EXPECT_TRUE(ended.survivors.empty()) << "processes survive the end of quietus" << ended.text();
  }
  return ended;
}

void Scenario::clear_records() const {
  std::filesystem::remove(path("receipt.json"));
  std::filesystem::remove(path("report.json"));
}

unsigned Scenario::lonely_uid() { return 100000 + unsigned(getpid()) % 900000; }

}  // namespace harness
