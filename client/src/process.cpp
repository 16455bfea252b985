#include "client/src/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <asio/experimental/as_tuple.hpp>
#include <asio/post.hpp>
#include <cerrno>

namespace quietus {
namespace {

using namespace std::chrono_literals;
using asio::posix::stream_descriptor;

constexpr auto kGrace = 1s;
// After KILL a process is gone at once, unless it sleeps where it cannot be interrupted.
constexpr auto kAfterKill = 5s;
// How long the output may stay open once the process has ended: somebody else holds it.
constexpr auto kAfterEnd = 200ms;
constexpr std::size_t kChunk = std::size_t{64} << 10;
// A process that never stops writing must not keep the others waiting.
constexpr int kRoundsInARow = 8;

constexpr auto kTuple = asio::experimental::as_tuple(asio::use_awaitable);

// One buffer for each thread is enough where nothing is awaited while it is in use.
std::span<char> shared_buffer() {
  thread_local std::array<char, kChunk> buffer;
  return buffer;
}

// What the coroutines of one process share. It outlives each of them.
struct Running {
  explicit Running(const asio::any_io_executor& on) : executor(on), news(on), ended(on) {}

  asio::any_io_executor executor;
  Event news;   // ended, or in trouble
  Event ended;  // the process has, and is not collected yet
  std::optional<Error> trouble;
  void fail_with(Error error) {
    if (!trouble) trouble = std::move(error);
    news.set();
  }
};

// One output stream.
struct Drain {
  Drain(const asio::any_io_executor& executor, OutputStream which, UniqueFd from)
      : stream(which), fd(executor, from.release()), quiet(executor) {}

  OutputStream stream;
  stream_descriptor fd;
  Event quiet;  // nothing to read at the moment
  std::uint64_t reads = 0;
  std::string kept;
  bool cut = false;
};

using Job = Task<Expected<void>>;

void keep(Drain& drain, const ProcessRequest& request, std::string_view bytes) {
  if (request.on_output) request.on_output(drain.stream, bytes);
  const std::size_t room = request.output_cap - std::min(request.output_cap, drain.kept.size());
  if (bytes.size() > room) drain.cut = true;
  drain.kept.append(bytes.substr(0, room));
}

asio::awaitable<Expected<void>> read_all(std::shared_ptr<Running> running,
                                         std::shared_ptr<Drain> drain,
                                         std::shared_ptr<const ProcessRequest> request) {
  const bool to_sink = request->sink && drain->stream == OutputStream::out;
  std::vector<char> own(to_sink ? kChunk : 0);
  drain->fd.native_non_blocking(true);
  int rounds = 0;
  for (;;) {
    const bool cancelled = co_await is_cancelled();
    if (cancelled) break;
    // Looked up again after each suspension: another thread may run us now.
    const std::span<char> buffer = to_sink ? std::span<char>(own) : shared_buffer();
    const ssize_t got = ::read(drain->fd.native_handle(), buffer.data(), buffer.size());
    const int error = errno;
    if (got == 0) break;
    if (got > 0) {
      ++drain->reads;
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
      if (to_sink) {
        auto taken = co_await request->sink(bytes);
        if (!taken) {
          running->fail_with(std::move(taken.error()));
          break;
        }
      } else {
        keep(*drain, *request, bytes);
      }
      if (++rounds % kRoundsInARow == 0) {
        co_await asio::post(running->executor, asio::use_awaitable);
      }
      continue;
    }
    if (error == EINTR) continue;
    if (error != EAGAIN) break;  // as good as the end: EIO of a terminal
    drain->quiet.set();
    (void)co_await drain->fd.async_wait(stream_descriptor::wait_read, kTuple);
    drain->quiet.clear();
  }
  drain->quiet.set();
  co_return Expected<void>{};
}

// False: whoever reads has gone, which is his right.
asio::awaitable<bool> write_all(stream_descriptor& to, std::string_view bytes) {
  while (!bytes.empty()) {
    const long wrote = write_without_sigpipe(to.native_handle(), bytes.substr(0, kChunk));
    if (wrote >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
      continue;
    }
    if (wrote == -EINTR) continue;
    if (wrote != -EAGAIN) co_return false;
    const bool cancelled = co_await is_cancelled();
    if (cancelled) co_return false;
    (void)co_await to.async_wait(stream_descriptor::wait_write, kTuple);
  }
  co_return true;
}

asio::awaitable<Expected<void>> feed(std::shared_ptr<Running> running,
                                     std::shared_ptr<stream_descriptor> to,
                                     std::shared_ptr<const ProcessRequest> request) {
  to->native_non_blocking(true);
  if (!request->source) {
    (void)co_await write_all(*to, request->input.value);
    // Held open: whoever waits for the process closes it.
    if (request->input.kind == Input::Kind::held) co_return Expected<void>{};
  } else {
    std::vector<char> buffer(kChunk);
    for (;;) {
      const auto got = co_await request->source(buffer);
      if (!got) {
        running->fail_with(got.error());
        co_return Expected<void>{};  // not closed: half of the input must not look like the whole
      }
      if (*got == 0) break;
      const bool taken = co_await write_all(*to, std::string_view(buffer.data(), *got));
      if (!taken) break;
    }
  }
  asio::error_code ignored;
  to->close(ignored);
  co_return Expected<void>{};
}

asio::awaitable<Expected<void>> watch(std::shared_ptr<Running> running,
                                      std::shared_ptr<Child> child) {
  co_await child->ended();
  running->ended.set();
  running->news.set();
  co_return Expected<void>{};
}

// For a process that could not be ended: it is collected whenever that may be.
asio::awaitable<Expected<void>> collect_later(std::shared_ptr<Running> running,
                                              std::shared_ptr<Child> child) {
  const bool ended = co_await running->ended.wait();
  if (ended) (void)child->collect();
  co_return Expected<void>{};
}

struct Plumbing {
  Child::Streams inside;
  UniqueFd in;
  UniqueFd out;
  UniqueFd err;
};

Expected<Plumbing> lay_pipes(const ProcessRequest& request) {
  Plumbing plumbing;
  const bool fed = request.source || request.input.kind == Input::Kind::text ||
                   request.input.kind == Input::Kind::held;
  if (fed) {
    auto pipe = make_pipe();
    if (!pipe) return fail(pipe.error());
    plumbing.inside.in = std::move(pipe->in);
    plumbing.in = std::move(pipe->out);
  } else {
    const bool file = request.input.kind == Input::Kind::file;
    auto in = open_file(file ? request.input.value.c_str() : "/dev/null", O_RDONLY);
    if (!in) return fail(in.error());
    plumbing.inside.in = std::move(*in);
  }
  auto out = make_pipe();
  if (!out) return fail(out.error());
  auto err = make_pipe();
  if (!err) return fail(err.error());
  plumbing.inside.out = std::move(out->out);
  plumbing.inside.err = std::move(err->out);
  plumbing.out = std::move(out->in);
  plumbing.err = std::move(err->in);
  return plumbing;
}

// What the process wrote is in the pipe when it has ended: until that is empty and has stayed so
// for a moment. The end of file may never come, since descendants may hold the pipe.
asio::awaitable<void> finish_reading(std::shared_ptr<Drain> drain, std::shared_ptr<Job> reading,
                                     Until until) {
  while (!reading->done() && Clock::now() < until) {
    const std::uint64_t before = drain->reads;
    (void)co_await drain->quiet.wait(until);
    (void)co_await reading->wait(earlier(until, Clock::now() + kAfterEnd));
    if (drain->quiet.is_set() && drain->reads == before) break;
    const bool cancelled = co_await is_cancelled();
    if (cancelled) break;
  }
}

// Sources and sinks see the cancellation, so that the wait is short.
asio::awaitable<void> end_job(std::shared_ptr<Job> job) {
  job->cancel();
  (void)co_await job->wait(Clock::now() + kAfterKill);
}

Error why_not_waited(const Running& running, bool cancelled, const std::string& program) {
  if (running.trouble) return *running.trouble;
  if (cancelled) return {ErrorKind::cancelled, "'" + program + "' was cancelled", {}};
  return {ErrorKind::timeout, "'" + program + "' did not end in time", "give it a longer deadline"};
}

asio::awaitable<ProcessEnd> run_here(ProcessRequest given) {
  ProcessEnd end;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const bool too_late = co_await is_cancelled();
  if (too_late) {
    end.error = Error{ErrorKind::cancelled, "'" + given.command.argv.front() + "' was cancelled"};
    co_return end;
  }
  auto plumbing = lay_pipes(given);
  if (!plumbing) {
    end.error = plumbing.error();
    co_return end;
  }
  const auto request = std::make_shared<const ProcessRequest>(std::move(given));
  auto spawning = Child::spawn(request->command, std::move(plumbing->inside), request->deadline);
  auto spawned = co_await std::move(spawning);
  if (!spawned) {
    end.spawn_error = spawned.error().code;
    end.error = spawned.error().error;
    co_return end;
  }

  // From here on a process runs, and nothing returns before it has ended.
  const auto child = std::make_shared<Child>(std::move(*spawned));
  const auto running = std::make_shared<Running>(executor);
  const auto out = std::make_shared<Drain>(executor, OutputStream::out, std::move(plumbing->out));
  const auto err = std::make_shared<Drain>(executor, OutputStream::err, std::move(plumbing->err));
  const auto reading_out = Job::start(executor, read_all(running, out, request));
  const auto reading_err = Job::start(executor, read_all(running, err, request));
  (void)Job::start(executor, watch(running, child));
  std::shared_ptr<stream_descriptor> in;
  std::shared_ptr<Job> feeding;
  if (plumbing->in) {
    in = std::make_shared<stream_descriptor>(executor, plumbing->in.release());
    feeding = Job::start(executor, feed(running, in, request));
  }

  (void)co_await running->news.wait(request->deadline);
  if (!running->ended.is_set()) {
    const bool cancelled = co_await is_cancelled();
    end.error = why_not_waited(*running, cancelled, request->command.argv.front());
    co_await leave_in_peace();
    child->signal_group(SIGTERM);
    (void)co_await running->ended.wait(Clock::now() + kGrace);
    // Its descendants too: while it is not collected, the group's number is surely theirs.
    child->signal_group(SIGKILL);
    (void)co_await running->ended.wait(Clock::now() + kAfterKill);
  } else if (request->sink && !running->trouble) {
    co_await finish_reading(out, reading_out, request->deadline);
    if (!reading_out->done() && !out->quiet.is_set()) {
      const bool cancelled = co_await is_cancelled();
      end.error = why_not_waited(*running, cancelled, request->command.argv.front());
    }
  }
  co_await leave_in_peace();
  const Until patience = Clock::now() + kAfterEnd;
  co_await finish_reading(out, reading_out, patience);
  co_await finish_reading(err, reading_err, patience);
  if (running->trouble && !end.error) end.error = running->trouble;
  co_await end_job(reading_out);
  co_await end_job(reading_err);
  if (feeding) co_await end_job(feeding);
  if (running->ended.is_set()) {
    end.status = child->collect();
  } else {
    (void)Job::start(executor, collect_later(running, child));
  }
  asio::error_code ignored;
  if (in) in->close(ignored);
  out->fd.close(ignored);
  err->fd.close(ignored);
  end.out = std::move(out->kept);
  end.err = std::move(err->kept);
  end.out_cut = out->cut;
  end.err_cut = err->cut;
  co_return end;
}

}  // namespace

asio::awaitable<ProcessEnd> run_process(ProcessRequest request) {
  // A coroutine of its own: its end cannot be cancelled any more, what the caller does next can.
  return guarded(run_here(std::move(request)));
}

}  // namespace quietus
