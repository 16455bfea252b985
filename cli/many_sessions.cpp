#include "cli/many_sessions.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "cli/interruptible.hpp"
#include "cli/task.hpp"
#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "quietus/connect.hpp"

namespace quietus::cli {
namespace {

// The ledger's file, a pidfd, and both ends of the pipes of a start, at the worst moment.
constexpr rlim_t kDescriptorsEach = 12;
constexpr rlim_t kDescriptorsOfOurs = 64;

// As many descriptors as that many sessions need. What is started on this machine gets the limit
// back that we had ourselves: its words for quietus launch, or none.
std::vector<std::string> make_room(std::size_t parallel) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t needed = kDescriptorsOfOurs + kDescriptorsEach * parallel;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed) return {};
  const rlimit raised = {std::min(needed, limit.rlim_max), limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0) return {};
  const auto text = [](rlim_t value) {
    return value == RLIM_INFINITY ? std::string("unlimited") : decimal(value);
  };
  return {"--rlimit", "nofile=" + text(limit.rlim_cur) + ':' + text(limit.rlim_max)};
}

class Many {
 public:
  Many(std::vector<Job> jobs, const Services& services, Screen& screen)
      : jobs_(std::move(jobs)), services_(services), screen_(screen) {}

  asio::awaitable<int> run() {
    co_await asio::this_coro::throw_if_cancelled(false);
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const std::size_t count =
        std::min(jobs_.size(), static_cast<std::size_t>(services_.settings.parallel));
    const std::vector<std::string> local_options = make_room(count);
    bool any_local = false;
    for (Job& job : jobs_) {
      if (job.plan.sandbox != "local") continue;
      job.plan.launch_options = local_options;
      any_local = true;
    }
    if (any_local) co_await try_payload();
    std::vector<std::shared_ptr<Task<Nothing>>> workers;
    for (std::size_t i = 0; i < count; ++i) {
      workers.push_back(Task<Nothing>::start(executor, work()));
    }
    for (const auto& worker : workers) {
      co_await worker->ended();
      (void)worker->result();
    }
    co_return exit_code();
  }

  bool interrupt(int count) {
    stopping_ = true;
    if (count == 1) {
      screen_.news("stopping " + decimal(live_.size()) + "; once more to skip the grace");
      for (auto& [index, live] : live_) live.task->cancel();
    } else if (count == 2) {
      for (auto& [index, live] : live_) {
        if (live.end_now) live.end_now();
      }
    }
    return count <= 2;
  }

 private:
  struct Live {
    std::shared_ptr<Task<SessionResult>> task;
    std::function<void()> end_now;
  };

  // Once: or each of those that begin together would ask whether the supervisor works here. Where
  // it does not, each of them says so.
  asio::awaitable<void> try_payload() {
    auto transport = transport_from_name("local");
    if (!transport) co_return;
    const auto sandbox = sandbox_over(std::move(*transport));
    (void)co_await services_.source->place(*sandbox, services_.settings.session_parent);
  }

  asio::awaitable<Nothing> work() {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    while (next_ < jobs_.size() && !stopping_) {
      const std::size_t index = next_++;
      Live& live = live_[index];
      SessionHooks hooks;
      hooks.can_end_now = [&live](std::function<void()> how) { live.end_now = std::move(how); };
      live.task = Task<SessionResult>::start(
          executor, run_session(services_, std::move(jobs_[index].plan), std::move(hooks)));
      const auto task = live.task;
      co_await task->ended();
      live_.erase(index);
      tell(jobs_[index].name, task->result());
    }
    co_return Nothing{};
  }

  void tell(const std::string& name, const SessionResult& result) {
    nonzero_ = nonzero_ || result.exit_code != kExitSuccess;
    unconfirmed_ = unconfirmed_ || result.exit_code == kExitNotConfirmed;
    failed_ = failed_ || !result.receipt || !result.released || !result.collection.problems.empty();
    if (screen_.is_json()) {
      nlohmann::json json = session_json(result);
      json["name"] = name;
      if (!result.output.empty()) json["output"] = result.output;
      screen_.json(json);
    } else {
      screen_.out(name + ": " + session_text(result) + '\n');
    }
  }

  int exit_code() const {
    if (unconfirmed_) return kExitNotConfirmed;
    if (stopping_) return kExitStopped;
    if (failed_) return kExitFailed;
    return nonzero_ ? kExitTrouble : kExitSuccess;
  }

  std::vector<Job> jobs_;
  const Services& services_;
  Screen& screen_;
  std::map<std::size_t, Live> live_;
  std::size_t next_ = 0;
  bool stopping_ = false;
  bool nonzero_ = false;
  bool unconfirmed_ = false;
  bool failed_ = false;
};

}  // namespace

int run_many(std::vector<Job> jobs, const Services& services, Screen& screen) {
  Many many(std::move(jobs), services, screen);
  const auto on_interrupt = [&](int count) { return many.interrupt(count); };
  return run_interruptible(screen, many.run(), on_interrupt, [] { return true; });
}

void tell_end(Screen& screen, const SessionResult& result) {
  const bool confirmed = result.receipt && result.receipt->cleanup_confirmed;
  const std::string text = session_text(result);
  if (!confirmed || result.receipt->error) {
    screen.error(text);
  } else if (result.exit_code == kExitStopped || result.exit_code == kExitTimedOut) {
    screen.warn(text);
  } else {
    screen.news(text, Tone::good);
  }
}

}  // namespace quietus::cli
