#include "supervisor/launch.hpp"

#include "kernel/procfs.hpp"

namespace quietus {
namespace {

// What execvp(3) uses where the environment has no PATH.
constexpr std::string_view kDefaultPath = "/usr/local/bin:/bin:/usr/bin";
constexpr std::size_t kPasswdLimit = std::size_t{4} << 20;

std::string_view value_of(const std::vector<std::string>& environment, std::string_view name,
                          std::string_view otherwise) {
  for (const std::string_view entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return otherwise;
}

std::vector<const char*> pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> list;
  list.reserve(strings.size() + 2);
  for (const std::string& text : strings) list.push_back(text.c_str());
  list.push_back(nullptr);
  return list;
}

std::string marker(std::string_view outer, std::string_view id) {
  std::string text(kMarker);
  text += '=';
  if (!outer.empty()) {
    text += outer;
    text += ',';
  }
  text += id;
  return text;
}

unsigned group_of(sys::Gate& gate, const User& user) {
  if (user.gid) return *user.gid;
  const auto passwd = sys::read_file(gate, "/etc/passwd", kPasswdLimit);
  if (!passwd) return user.uid;
  return sys::parse_primary_group(*passwd, user.uid).value_or(user.uid);
}

}  // namespace

bool carries_marker(std::string_view environment, std::string_view id) {
  while (!environment.empty()) {
    const std::size_t end = environment.find('\0');
    std::string_view entry = environment.substr(0, end);
    environment.remove_prefix(end == std::string_view::npos ? environment.size() : end + 1);
    if (!entry.starts_with(kMarker) || entry.size() <= kMarker.size() ||
        entry[kMarker.size()] != '=') {
      continue;
    }
    entry.remove_prefix(kMarker.size() + 1);
    while (!entry.empty()) {
      const std::size_t comma = entry.find(',');
      if (entry.substr(0, comma) == id) return true;
      entry.remove_prefix(comma == std::string_view::npos ? entry.size() : comma + 1);
    }
  }
  return false;
}

std::string take_marker(std::vector<std::string>& environment) {
  std::string outer;
  std::erase_if(environment, [&](const std::string& entry) {
    const std::string_view text = entry;
    const bool ours =
        text.starts_with(kMarker) && text.size() > kMarker.size() && text[kMarker.size()] == '=';
    if (ours) outer = text.substr(kMarker.size() + 1);
    return ours;
  });
  return outer;
}

std::vector<std::string> program_candidates(std::string_view name,
                                            const std::vector<std::string>& environment) {
  if (name.empty() || name.find('/') != std::string_view::npos) return {std::string(name)};
  std::vector<std::string> candidates;
  std::string_view path = value_of(environment, "PATH", kDefaultPath);
  for (;;) {
    const std::size_t end = path.find(':');
    // An empty element is the working directory, as the shells have it.
    std::string candidate(path.substr(0, end));
    if (candidate.empty()) candidate = ".";
    candidates.push_back(candidate + '/' + std::string(name));
    if (end == std::string_view::npos) return candidates;
    path.remove_prefix(end + 1);
  }
}

sys::Result<Launched> launch_worker(sys::Gate& gate, const Options& options, Ground& ground,
                                    std::string_view id, const LaunchWiring& wiring) {
  const Worker& worker = options.worker;
  const auto candidates = program_candidates(worker.argv.front(), worker.environment);
  const std::string outer = worker.outer_marker.empty()
                                ? std::string()
                                : std::string(kMarker) + '=' + worker.outer_marker;
  const std::string marked = marker(worker.outer_marker, id);

  const std::vector<const char*> candidate_list = pointers(candidates);
  const std::vector<const char*> argv = pointers(worker.argv);
  std::vector<const char*> environment = pointers(worker.environment);
  std::vector<const char*> plain = environment;
  environment.back() = marked.c_str();
  environment.push_back(nullptr);
  if (!outer.empty()) {
    plain.back() = outer.c_str();
    plain.push_back(nullptr);
  }

  auto pipe = sys::pipe(gate);  // the child's end closes on exec
  if (!pipe) return tl::unexpected(pipe.error());
  if (const auto set = sys::set_nonblocking(gate, pipe->first.get()); !set) {
    return tl::unexpected(set.error());
  }
  if (ground.cgroup) ground.cgroup->open(gate);

  const std::string procs = ground.cgroup ? ground.cgroup->procs_path() : std::string();
  const std::string leaf = ground.cgroup ? ground.cgroup->path() : std::string();
  ChildPlan plan;
  plan.board = wiring.board;
  plan.shield = ground.shielded;
  plan.limits = worker.limits;
  if (worker.user) {
    plan.change_user = true;
    plan.uid = worker.user->uid;
    plan.gid = group_of(gate, *worker.user);
  }
  if (!worker.directory.empty()) plan.directory = worker.directory.c_str();
  plan.no_new_privileges = worker.no_new_privileges;
  plan.input = wiring.input;
  plan.output = wiring.output;
  plan.ignored = wiring.ignored;
  plan.candidates = candidate_list.data();
  plan.argv = argv.data();
  plan.environment = environment.data();
  plan.plain_environment = plain.data();

  const auto forked =
      sys::fork(gate, {.namespaces = 0, .cgroup = ground.cgroup ? ground.cgroup->directory() : -1});
  if (!forked) return tl::unexpected(forked.error());
  if (forked->pid == 0) {
    if (ground.cgroup && !forked->in_cgroup) {
      plan.cgroup_procs = procs.c_str();
      plan.cgroup_leaf = leaf.c_str();
    }
    run_child(gate, plan);
  }
  return Launched{forked->pid, std::move(pipe->first)};
}

}  // namespace quietus
