#include "client/src/transfer.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "client/src/staged.hpp"
#include "client/src/transfer_parts.hpp"
#include "client/src/words.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookTime = 30s;

}  // namespace

asio::awaitable<ProcessEnd> Transfer::run(HostCommand command, Until deadline) {
  ProcessRequest request{.command = std::move(command), .deadline = deadline};
  request.output_cap = kMessageCap;
  co_return co_await run_process(std::move(request));
}

asio::awaitable<ProcessEnd> Transfer::run_inside(std::vector<std::string> argv,
                                                 ProcessRequest request) {
  InsideCommand command{.argv = std::move(argv)};
  command.reads_stdin = request.source || request.input.kind != Input::Kind::nothing;
  auto host = transport_.exec(command);
  if (!host) {
    ProcessEnd end;
    end.error = host.error();
    co_return end;
  }
  request.command = std::move(*host);
  request.output_cap = kMessageCap;
  ProcessEnd end = co_await run_process(std::move(request));
  if (!end.error && end.status) {
    const ClientEnd client{.code = end.status->signaled ? std::optional<int>() : end.status->code,
                           .out = end.out,
                           .err = end.err};
    end.error = transport_.failure(client);
  }
  co_return end;
}

asio::awaitable<Expected<Transfer::Tools>> Transfer::tools(Until deadline) {
  if (tools_) co_return *tools_;
  constexpr const char* kAsk =
      R"(echo quietus shell; for t in tar base64; do command -v $t >/dev/null && echo quietus $t; done)";
  ProcessRequest request{.deadline = earlier(deadline, Clock::now() + kLookTime)};
  std::vector<std::string> argv = words("sh", "-c", kAsk);
  const ProcessEnd end = co_await run_inside(std::move(argv), std::move(request));
  const auto has = [&](std::string_view tool) {
    return end.out.find("quietus " + std::string(tool)) != std::string::npos;
  };
  Tools found{.shell = has("shell"), .tar = has("tar"), .base64 = has("base64")};
  // Only the answer of a sandbox counts: that it could not be asked says nothing of a shell.
  if (!found.shell && end.error && end.error->kind != ErrorKind::sandbox) {
    co_return fail(*end.error);
  }
  tools_ = found;
  co_return found;
}

asio::awaitable<Expected<void>> Transfer::upload(std::string local, std::string inside,
                                                 TransferOptions options) {
  Job job{std::move(local), std::move(inside), options, after(options.deadline)};
  if (!job.inside.starts_with('/')) {
    co_return fail(ErrorKind::input, job.uploading() + ": a path inside must be absolute");
  }
  while (job.inside.size() > 1 && job.inside.ends_with('/')) job.inside.pop_back();
  struct stat there {};
  if (stat(job.local.c_str(), &there) != 0) {
    co_return fail(ErrorKind::input, system_message("copy", job.local, errno));
  }
  if (S_ISDIR(there.st_mode)) {
    // Looked at before anything is sent: what cannot be sent, or is too much, fails here.
    const auto size = measure_tree(job.local, options.most_bytes);
    if (!size) co_return fail(size.error());
    co_return co_await upload_tree(std::move(job));
  }
  if (!S_ISREG(there.st_mode)) {
    co_return fail(ErrorKind::input, "'" + job.local + "' is no file or directory");
  }
  if (options.most_bytes && static_cast<std::uint64_t>(there.st_size) > *options.most_bytes) {
    co_return fail(too_large(job.local, *options.most_bytes));
  }
  if (!job.options.mode) job.options.mode = there.st_mode & 07777;
  co_return co_await upload_file(std::move(job));
}

asio::awaitable<Expected<void>> Transfer::upload_file(Job job) {
  const auto root = transport_.host_root();
  if (transport_.traits().shares_files && root) {
    co_return co_await upload_to_host(std::move(job), *root);
  }
  const auto inside = co_await tools(job.deadline);
  if (!inside) co_return fail(inside.error());
  if (inside->shell) {
    struct stat there {};
    if (stat(job.local.c_str(), &there) != 0) {
      co_return fail(ErrorKind::input, system_message("copy", job.local, errno));
    }
    const auto size = static_cast<std::uint64_t>(there.st_size);
    if (transport_.traits().carries_stdin) {
      co_return co_await upload_through_shell(std::move(job), size);
    }
    if (inside->base64) co_return co_await upload_in_arguments(std::move(job), size);
  }
  if (transport_.copy_in(job.local, job.inside)) co_return co_await upload_by_copy(std::move(job));
  if (root) co_return co_await upload_to_host(std::move(job), *root);
  co_return fail(ErrorKind::sandbox,
                 job.uploading() + ": there is no shell inside, and '" + transport_.name() +
                     "' has no copy of its own",
                 "mount the file, or use an image with a shell");
}

asio::awaitable<Expected<void>> Transfer::upload_tree(Job job) {
  const auto root = transport_.host_root();
  if (transport_.traits().shares_files && root) {
    co_return co_await upload_to_host(std::move(job), *root);
  }
  const auto inside = co_await tools(job.deadline);
  if (!inside) co_return fail(inside.error());
  if (inside->tar && transport_.traits().carries_stdin) {
    co_return co_await upload_through_tar(std::move(job));
  }
  if (transport_.copy_in(job.local, job.inside)) co_return co_await upload_by_copy(std::move(job));
  if (root) co_return co_await upload_to_host(std::move(job), *root);
  co_return fail(ErrorKind::sandbox, job.uploading() + ": there is no tar inside",
                 "copy the files one by one, or use an image with tar");
}

asio::awaitable<Expected<void>> Transfer::download(std::string inside, std::string local,
                                                   TransferOptions options) {
  Job job{std::move(local), std::move(inside), options, after(options.deadline)};
  if (!job.inside.starts_with('/')) {
    co_return fail(ErrorKind::input, job.downloading() + ": a path inside must be absolute");
  }
  while (job.inside.size() > 1 && job.inside.ends_with('/')) job.inside.pop_back();
  const auto root = transport_.host_root();
  if (transport_.traits().shares_files && root) {
    co_return co_await download_from_host(std::move(job), *root);
  }
  const auto found = co_await tools(job.deadline);
  if (!found) co_return fail(found.error());
  // A file needs no tar; whether it is one, only the inside knows.
  if (found->shell) co_return co_await download_through_shell(std::move(job));
  if (transport_.copy_out(job.inside, job.local)) {
    co_return co_await download_by_copy(std::move(job));
  }
  if (root) co_return co_await download_from_host(std::move(job), *root);
  co_return fail(ErrorKind::sandbox,
                 job.downloading() + ": there is no shell inside, and '" + transport_.name() +
                     "' has no copy of its own",
                 "use an image with a shell");
}

}  // namespace quietus
