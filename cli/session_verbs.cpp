#include "cli/session_verbs.hpp"

#include "cli/ledger_entry.hpp"
#include "contract/decimal.hpp"
#include "contract/receipt_parse.hpp"
#include "quietus/connect.hpp"
#include "quietus/receipt_check.hpp"

namespace quietus::cli {
namespace {

using namespace std::chrono_literals;

constexpr Span kVerbTime = 60s;

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \r\n\t");
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \r\n\t") - begin + 1));
}

Error failure_of(const ExecResult& result, std::string what) {
  Error error{result.error ? result.error->kind : ErrorKind::sandbox, std::move(what), {}};
  if (!result.error && result.return_code) {
    error.message += " (exit " + decimal(*result.return_code) + ')';
  }
  if (const std::string said = trimmed(result.err); !said.empty()) error.message += ": " + said;
  return result.error ? std::move(error).because(*result.error) : error;
}

Error not_running(const Sandbox& sandbox, SandboxStatus status, std::string_view directory) {
  const std::string give_up = "give the session up: quietusctl gc --forget " +
                              std::string(id_of_directory(directory).substr(0, kShownId));
  if (status == SandboxStatus::absent) {
    return {ErrorKind::sandbox, "'" + sandbox.name() + "' is not there any more", give_up};
  }
  return {ErrorKind::sandbox, "'" + sandbox.name() + "' has stopped", "start it, or " + give_up};
}

std::string whole_seconds(Span span) {
  return decimal(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(span).count()));
}

}  // namespace

Expected<std::shared_ptr<Sandbox>> sandbox_of(const LedgerEntry& entry) {
  const TransportOptions options{.programs = entry.programs, .token = entry.id};
  auto transport = transport_from_name(entry.sandbox, options);
  // By the name that made it its supervisor is found, too, if one was mounted; else by its own.
  const bool has_payload = transport && !(*transport)->traits().payload.empty();
  if (!entry.reach.empty() && !has_payload) transport = transport_from_name(entry.reach, options);
  if (!transport) return fail(transport.error());
  return sandbox_over(std::move(*transport));
}

asio::awaitable<Expected<std::string>> find_supervisor(Sandbox& sandbox, PayloadSource& source,
                                                       std::string directory) {
  const Traits& traits = sandbox.traits();
  if (traits.payload.empty() && !traits.shares_files) {
    std::string there = directory + "/quietus";
    ExecRequest request{.argv = words(there, "--version", "--json"), .deadline = kVerbTime};
    const ExecResult result = co_await sandbox.exec(std::move(request));
    if (result.error && result.error->kind != ErrorKind::sandbox) co_return fail(*result.error);
    if (!result.error && parse_payload_version(result.out)) co_return there;
  }
  auto placed = co_await source.place(sandbox, directory);
  if (placed || placed.error().kind != ErrorKind::sandbox) co_return placed;
  // Where nothing can run, why each way in was refused says less than that.
  const auto status = co_await sandbox.status();
  if (status && (*status == SandboxStatus::absent || *status == SandboxStatus::stopped)) {
    co_return fail(not_running(sandbox, *status, directory));
  }
  co_return placed;
}

asio::awaitable<StopAnswer> stop_session(Sandbox& sandbox, std::string supervisor,
                                         std::string directory, Span timeout, Grace grace) {
  ExecRequest request{.argv = words(supervisor, "stop", "--session", directory, "--timeout",
                                    whole_seconds(timeout)),
                      .deadline = timeout + kVerbTime};
  if (grace == Grace::none) request.argv.emplace_back("--now");
  const ExecResult result = co_await sandbox.exec(std::move(request));
  StopAnswer answer;
  const std::string text = trimmed(result.out);
  // What it printed is the evidence, whatever the exit code that came back.
  const auto checked = check_receipt(text, "session");
  if (checked) {
    answer.receipt = checked->receipt;
    co_return answer;
  }
  if (text.starts_with('{') && text.ends_with('}')) {
    const auto parsed = parse_receipt(text);
    answer.receipt = parsed ? parsed->receipt : Receipt{};
    answer.error = checked.error();
    co_return answer;
  }
  answer.error = failure_of(result, "the end of '" + directory + "' is not known");
  if (answer.error->kind == ErrorKind::sandbox) answer.error->kind = ErrorKind::unknown;
  co_return answer;
}

asio::awaitable<Expected<std::string>> session_verb(Sandbox& sandbox, std::string supervisor,
                                                    std::string directory, std::string verb,
                                                    std::vector<std::string> more) {
  ExecRequest request{.argv = words(supervisor, verb, "--session", directory),
                      .deadline = kVerbTime};
  request.argv.insert(request.argv.end(), more.begin(), more.end());
  const ExecResult result = co_await sandbox.exec(std::move(request));
  if (result.succeeded()) co_return result.out;
  co_return fail(failure_of(result, "quietus " + verb + " did not work"));
}

}  // namespace quietus::cli
