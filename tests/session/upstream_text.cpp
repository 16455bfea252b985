#include "upstream_text.hpp"

#include "harness/features.hpp"

namespace session_tests {

using namespace harness;

namespace {

// $1 the interpreter, $2 the directory, $3 the timeout, $4 $5 $6 the names; then the command.
constexpr const char* kLaunch = R"sh(
interpreter=$1 dir=$2 timeout=$3 pid=$4 stop=$5 log=$6
shift 6
[ -d "$dir" ] || exit 0
[ ! -L "$dir/launch.claim" ] || exit 0
"$interpreter" -I "$dir/process_supervisor.py" --help >/dev/null || exit $?
trap '' TERM
ln -s launch "$dir/launch.claim" 2>/dev/null || exit 0
echo $$ >"$dir/$pid" &&
  exec "$interpreter" -I "$dir/process_supervisor.py" --timeout "$timeout" \
    --cleanup-timeout 0.5 --stop-file "$dir/$stop" --receipt "$dir/cleanup.json" \
    -- "$@" >"$dir/$log" 2>&1
)sh";

// $1 the directory, $2 the seconds, $3 $4 the names.
constexpr const char* kStop = R"sh(
dir=$1 seconds=$2 pid=$3 stop=$4
[ ! -e "$dir/cleanup.json" ] || exit 0
touch "$dir/$stop" || exit 1
ln -s stop "$dir/launch.claim" 2>/dev/null
if [ "$(readlink "$dir/launch.claim")" = stop ]; then
  temporary=$dir/cleanup.json.$$.tmp
  printf '{"cleanup_confirmed": true, "return_code": null, "error": null, "timed_out": false}' \
    >"$temporary" && mv "$temporary" "$dir/cleanup.json"
  exit $?
fi
[ ! -s "$dir/$pid" ] || kill -TERM "$(cat "$dir/$pid")" 2>/dev/null
for round in $(seq "$seconds"); do
  [ ! -e "$dir/cleanup.json" ] || exit 0
  sleep 1
done
[ -e "$dir/cleanup.json" ]
)sh";

constexpr const char* kRemove = R"sh(
if [ -e "$1" ]; then mv "$1" "$1.closed" || exit 1; fi
rm -rf "$1.closed"
)sh";

Words in_shell(const UpstreamShell& shell, const char* text, const Words& arguments) {
  return shell.words + Words{"-c", text, "sh"} + arguments;
}

}  // namespace

std::vector<UpstreamShell> upstream_shells() {
  std::vector<UpstreamShell> shells;
  if (harness::has_tool("dash")) shells.push_back({"dash", {"dash"}});
  if (harness::has_tool("busybox")) shells.push_back({"busybox", {"busybox", "sh"}});
  return shells;
}

Words upstream_launch(const UpstreamShell& shell, const std::string& interpreter,
                      const std::string& dir, const Words& command, const std::string& timeout,
                      const UpstreamNames& names) {
  return in_shell(shell, kLaunch,
                  Words{interpreter, dir, timeout, names.pid, names.stop, names.log} + command);
}

Words upstream_stop(const UpstreamShell& shell, const std::string& dir, int seconds,
                    const UpstreamNames& names) {
  return in_shell(shell, kStop, {dir, std::to_string(seconds), names.pid, names.stop});
}

Words upstream_remove(const UpstreamShell& shell, const std::string& dir) {
  return in_shell(shell, kRemove, {dir});
}

}  // namespace session_tests
