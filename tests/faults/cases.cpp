#include "faults/cases.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <cerrno>

#include "harness/tools.hpp"

namespace faults {
namespace {

using namespace std::chrono_literals;
using harness::Words;
using quietus::Descendants;
using quietus::Form;
using quietus::Options;
using quietus::Shield;

constexpr int kUp = 3;  // the slot that the leader counts when its tree is there

Fault given(std::string kind, int code) {
  Fault fault;
  fault.kind = std::move(kind);
  fault.code = code;
  return fault;
}

Words joined(std::initializer_list<Words> parts) {
  Words all;
  for (const Words& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

class Builder {
 public:
  explicit Builder(const Paths& paths) : paths_(paths) {}

  std::vector<Case> all() {
    natural_ends();
    deadlines();
    stops();
    policies();
    shields_and_namespaces();
    bare_grounds();
    killed_halves();
    launches();
    return std::move(cases_);
  }

 private:
  // A leader, a child of it that ignores TERM, and a daemon that does and has a session of its own.
  [[nodiscard]] Words tree(const Words& leader) const {
    return joined({{paths_.actor, "bound:20000", "beats:" + paths_.beats()},
                   {"daemon", "[", "ignore:TERM", "touch:1", "hold", "]"},
                   {"fork", "[", "ignore:TERM", "touch:2", "hold", "]"},
                   {"await:1", "await:2"},
                   leader});
  }
  [[nodiscard]] static Words up(const Words& before, const Words& after) {
    return joined({before, {"touch:" + std::to_string(kUp)}, after});
  }

  [[nodiscard]] Options options(Words argv, quietus::Span timeout) const {
    Options options;
    options.timeout = timeout;
    options.cleanup_timeout = 60ms;
    options.receipt = paths_.out("receipt.json");
    options.verbosity = -1;
    options.worker.argv = std::move(argv);
    options.worker.environment = {"PATH=/usr/bin:/bin", "LANG=C"};
    return options;
  }

  [[nodiscard]] Case natural(std::string name, int code = 7) const {
    Case made;
    made.name = std::move(name);
    made.options = options(tree(up({}, {"exit:" + std::to_string(code)})), 300ms);
    made.want = {.codes = {code}, .status = code};
    return made;
  }
  [[nodiscard]] Case deadline(std::string name) const {
    Case made;
    made.name = std::move(name);
    made.options = options(tree(up({"ignore:TERM"}, {"hold"})), 80ms);
    made.want = {.codes = {-9, -15}, .timed_out = true, .status = 124};
    return made;
  }
  [[nodiscard]] Case stop(std::string name, Event event = Event::terminate) const {
    Case made;
    made.name = std::move(name);
    made.options = options(tree(up({}, {"hold"})), 500ms);
    made.event = event;
    made.want = {.codes = {-15, -9}, .status = 122};
    return made;
  }

  Case& add(Case made) {
    cases_.push_back(std::move(made));
    return cases_.back();
  }

  static Case swept(Case made) {
    made.name += ", sweep";
    made.given.push_back(given("mkdirat cgroup", EROFS));
    return made;
  }
  static Case in_cgroup(Case made) {
    made.name += ", cgroup";
    made.needs_cgroup = true;
    return made;
  }
  static Case bare(Case made) {
    made.options.form = Form::bare;
    made.want.status = made.want.confirmed && !made.want.error ? 0 : 1;
    return made;
  }

  void natural_ends() {
    add(swept(bare(natural("natural end"))));
    add(in_cgroup(natural("natural end")));
    // Everything that writes or watches files.
    Case all = bare(natural("natural end with every file"));
    all.options.report = paths_.out("report.json");
    all.options.sync = true;
    all.options.stop_file = paths_.out("stop");
    all.options.expire_file = paths_.out("expire");
    all.options.output = paths_.out("output");
    all.options.output_limit = 4096;
    all.options.worker.argv = tree(up({"print:20000:700"}, {"exit:7"}));
    add(all);
    all = natural("natural end with output and report");
    all.options.report = paths_.out("report.json");
    all.options.output = paths_.out("output");
    all.options.worker.argv = tree(up({"print:3000"}, {"exit:7"}));
    add(swept(all));
  }

  void deadlines() {
    add(swept(deadline("deadline")));
    add(in_cgroup(bare(deadline("deadline"))));
    Case group = deadline("deadline, signal for the group");
    group.options.signal_group = true;
    group.options.signal = SIGUSR1;
    group.want.codes = {-SIGUSR1, -SIGKILL};
    add(swept(group));
  }

  void stops() {
    add(swept(bare(stop("TERM"))));
    add(in_cgroup(stop("TERM")));
    add(swept(stop("INT twice", Event::interrupt_twice)));
    Case file = bare(stop("stop file", Event::stop_file));
    file.options.stop_file = paths_.out("stop");
    add(in_cgroup(file));
    Case parent = stop("parent gone", Event::parent_leaves);
    parent.options.die_with_parent = true;
    add(swept(parent));
  }

  void policies() {
    for (Case made :
         {natural("group, natural end"), deadline("group, deadline"), stop("group, TERM")}) {
      made.options.descendants = Descendants::group;
      made.keeps = Keeps::detached;
      add(made.event == Event::terminate ? bare(made) : made);
    }
    Case keep = natural("keep on success, exit 0", 0);
    keep.options.descendants = Descendants::keep_on_success;
    keep.options.stop_file = paths_.out("stop");
    keep.keeps = Keeps::everything_after_success;
    add(bare(keep));
    keep = natural("keep on success, exit 7");
    keep.options.descendants = Descendants::keep_on_success;
    keep.keeps = Keeps::everything_after_success;
    add(keep);
    keep = deadline("keep on success, deadline");
    keep.options.descendants = Descendants::keep_on_success;
    keep.keeps = Keeps::everything_after_success;
    add(keep);
  }

  void shields_and_namespaces() {
    for (Case made : {natural("shield, natural end"), deadline("shield, deadline")}) {
      made.options.shield = Shield::required;
      made.needs_shield = true;
      add(made);
    }
    Case attempt = bare(stop("shield=try, TERM"));
    attempt.options.shield = Shield::attempt;
    attempt.needs_shield = true;
    add(attempt);
    attempt.name = "shield=try as nobody, TERM";
    attempt.uid = 65534;
    add(attempt);

    for (Case made : {natural("isolate, natural end"), deadline("isolate, deadline"),
                      bare(stop("isolate, TERM"))}) {
      made.options.isolate = true;
      add(made);
    }
    Case both = deadline("isolate and shield, deadline");
    both.options.isolate = true;
    both.options.shield = Shield::required;
    both.needs_shield = true;
    add(both);
    Case user = deadline("isolate as nobody, deadline");
    user.options.isolate = true;
    user.uid = 65534;
    add(user);
  }

  // What the sweep falls back to where something is missing from the start.
  void bare_grounds() {
    Case made = deadline("without /proc");
    for (const char* kind : {"openat /proc", "readlinkat /proc"}) {
      made.given.push_back(given(kind, ENOENT));
    }
    add(made);
    made = swept(deadline("without children files"));
    made.given.push_back(given("openat /proc/thread-self/children", ENOENT));
    add(made);
    made = deadline("without a subreaper");
    made.given.push_back(given("prctl SET_CHILD_SUBREAPER", EINVAL));
    add(in_cgroup(made));
  }

  void killed_halves() {
    const auto killed = [](Case made, const std::string& how, Event event) {
      made.name = how + made.name;
      made.event = event;
      made.want.error = true;
      made.want.status = event == Event::kill_guardian     ? -9
                         : made.options.form == Form::bare ? 1
                                                           : 125;
      return made;
    };
    for (const Event event : {Event::kill_supervisor, Event::kill_guardian}) {
      const std::string how =
          event == Event::kill_supervisor ? "supervisor killed" : "guardian killed";
      const bool adopted = event == Event::kill_supervisor;
      Case plain = swept(bare(stop("")));
      Case group = stop(", group");
      group.options.descendants = Descendants::group;
      group.keeps = Keeps::detached;
      Case shield = stop(", shield");
      shield.options.shield = Shield::required;
      shield.needs_shield = true;
      Case isolated = stop(", isolate");
      isolated.options.isolate = true;
      if (adopted) {
        // The kernel ends the worker with its namespace, unseen.
        isolated.want.codes = {Want::kNull};
      }
      for (const Case& made : {plain, in_cgroup(stop("")), group, shield, isolated}) {
        add(killed(made, how, event));
      }
    }
  }

  void launches() {
    Case refused = natural("no such program");
    refused.options.worker.argv = {"quietus-no-such-program"};
    refused.want = {.codes = {Want::kNull}, .error = true, .status = 127};
    add(refused);
    add(swept(bare(refused)));

    Case shaped = natural("a worker of another shape");
    shaped.options.worker.directory = "/";
    shaped.options.worker.limits = {{RLIMIT_CORE, 0, 0}, {RLIMIT_NOFILE, 64, 64}};
    shaped.options.worker.user = quietus::User{65534, {}};
    shaped.options.worker.no_new_privileges = true;
    add(in_cgroup(shaped));

    Case asked = stop("stop file before the launch");
    asked.options.stop_file = paths_.out("stop");
    asked.asked_before = true;
    asked.event = Event::none;
    asked.want = {.codes = {Want::kNull}, .status = 122};
    add(asked);
    asked.name = "expire file before the launch";
    asked.options.stop_file.clear();
    asked.options.expire_file = paths_.out("expire");
    asked.want.timed_out = true;
    add(bare(asked));
  }

  const Paths& paths_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> all_cases(const Paths& paths) { return Builder(paths).all(); }

}  // namespace faults
