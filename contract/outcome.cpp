#include "contract/outcome.hpp"

namespace quietus {

std::string_view name(Cause cause) {
  switch (cause) {
    case Cause::unknown: return "unknown";
    case Cause::exited: return "exited";
    case Cause::deadline: return "deadline";
    case Cause::stop: return "stop";
    case Cause::expire: return "expire";
    case Cause::lease: return "lease";
    case Cause::parent_gone: return "parent-gone";
    case Cause::launch_failed: return "launch-failed";
    case Cause::supervisor_killed: return "supervisor-killed";
  }
  return "unknown";
}

std::string_view name(Proof proof) {
  switch (proof) {
    case Proof::no_children_left: return "no-children-left";
    case Proof::cgroup_unpopulated: return "cgroup-unpopulated";
    case Proof::pid_namespace_gone: return "pid-namespace-gone";
    case Proof::process_group_empty: return "process-group-empty";
    case Proof::kept_by_policy: return "kept-by-policy";
  }
  return "unknown";
}

std::string_view name(Means means) {
  switch (means) {
    case Means::none: return "none";
    case Means::shield: return "shield";
    case Means::isolate: return "isolate";
    case Means::cgroup: return "cgroup";
    case Means::sweep: return "sweep";
    case Means::group: return "group";
  }
  return "none";
}

}  // namespace quietus
