#include "supervisor/record.hpp"

#include <cerrno>

#include <fcntl.h>

#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "contract/receipt.hpp"
#include "contract/report.hpp"
#include "contract/signals.hpp"
#include "kernel/directory.hpp"

namespace quietus {
namespace {

constexpr unsigned kOwnerRead = 0400;
constexpr unsigned kRecordMode = 0666;  // the umask takes its part

// A record on its way: its temporary file, in the same directory.
struct Draft {
  std::string name;
  int fd = -1;
  sys::UniqueFd owner;  // empty for a reserved one, which others hold
};

sys::Result<Draft> begin_draft(sys::Gate& gate, int directory, std::string name) {
  auto file = sys::open_at(gate, directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                           kRecordMode);
  if (!file) return tl::unexpected(file.error());
  const int fd = file->get();
  return Draft{std::move(name), fd, std::move(*file)};
}

// The reserved file, if it is still the one that was reserved: the worker could have put another
// one under its name.
bool still_names(sys::Gate& gate, int directory, const std::string& name, int fd) {
  const auto named = sys::lstat_at(gate, directory, name.c_str());
  const auto held = sys::fstat(gate, fd);
  return named && held && named->st_ino == held->st_ino && named->st_dev == held->st_dev;
}

// Ours alone; whatever failed before is the error to tell.
void abandon(sys::Gate& gate, const Options& options, const Draft& draft) {
  (void)sys::unlink_at(gate, options.control.directory, draft.name.c_str());
}

sys::Result<sys::Unit> fill(sys::Gate& gate, int fd, std::string_view bytes, bool sync) {
  const auto status = sys::fstat(gate, fd);
  if (!status) return tl::unexpected(status.error());
  // A umask that hides the file from its own reader would make it worthless.
  if ((status->st_mode & kOwnerRead) == 0) {
    const auto set = sys::change_mode(gate, fd, (status->st_mode & 07777) | kOwnerRead);
    if (!set) return set;
  }
  // At its place and then cut to length: a reserved file keeps the space that it has.
  for (std::size_t at = 0; at < bytes.size();) {
    const auto written = sys::write_at(gate, fd, bytes.substr(at), static_cast<std::int64_t>(at));
    if (!written) return tl::unexpected(written.error());
    if (*written == 0) return tl::unexpected(sys::Error{EIO, "pwrite"});
    at += *written;
  }
  const auto length = static_cast<std::int64_t>(bytes.size());
  if (status->st_size > length) {
    if (const auto cut = sys::truncate(gate, fd, length); !cut) return cut;
  }
  return sync ? sys::sync(gate, fd) : sys::Unit{};
}

sys::Result<sys::Unit> put_in_place(sys::Gate& gate, const Options& options, const Draft& draft,
                                    const std::string& path) {
  const int directory = options.control.directory;
  if (const auto renamed = sys::rename_at(gate, directory, draft.name.c_str(), path.c_str());
      !renamed) {
    return renamed;
  }
  if (!options.sync) return sys::Unit{};
  const auto parent =
      sys::open_at(gate, directory, sys::directory_of(path).c_str(), O_RDONLY | O_DIRECTORY);
  if (!parent) return tl::unexpected(parent.error());
  return sys::sync(gate, parent->get());
}

int exit_code_of(const Options& options, const Outcome& outcome, Records records) {
  return options.form == Form::bare ? bare_exit_code(outcome, records)
                                    : run_exit_code(outcome, records);
}

sys::Result<sys::Unit> write_report(sys::Gate& gate, const Options& options, const Outcome& outcome,
                                    std::string_view token) {
  const auto draft =
      begin_draft(gate, options.control.directory, temporary_path(options.report, token));
  if (!draft) return tl::unexpected(draft.error());
  auto written = fill(gate, draft->fd, report_json(outcome), options.sync);
  if (written) written = put_in_place(gate, options, *draft, options.report);
  if (!written) abandon(gate, options, *draft);
  return written;
}

sys::Result<sys::Unit> write_receipt(sys::Gate& gate, const Options& options, Outcome& outcome,
                                     std::string_view token, Records records, Herald* herald) {
  const Control& control = options.control;
  const bool reserved = control.reserved_fd >= 0 &&
                        still_names(gate, control.directory, control.reserved, control.reserved_fd);
  const auto draft =
      reserved ? sys::Result<Draft>(Draft{control.reserved, control.reserved_fd, {}})
               : begin_draft(gate, control.directory, temporary_path(options.receipt, token));
  if (!draft) return tl::unexpected(draft.error());
  const auto filled = [&] {
    return fill(gate, draft->fd, receipt_json(receipt_of(outcome)), options.sync);
  };
  auto written = filled();
  if (written && herald != nullptr) {
    const auto status = sys::fstat(gate, draft->fd);
    const bool news =
        herald->before_rename({status ? static_cast<std::uint64_t>(status->st_dev) : 0,
                               status ? static_cast<std::uint64_t>(status->st_ino) : 0,
                               exit_code_of(options, outcome, records)},
                              outcome);
    if (news) written = filled();
  }
  if (written) written = put_in_place(gate, options, *draft, options.receipt);
  if (!written) abandon(gate, options, *draft);
  return written;
}

std::string how_it_ended(const Outcome& outcome) {
  std::string text = "the command ";
  switch (outcome.ending.kind) {
    case Ending::Kind::exited: text += "exited with " + decimal(outcome.ending.value); break;
    case Ending::Kind::signaled: text += "died of " + signal_name(outcome.ending.value); break;
    case Ending::Kind::not_started: text += "was not started"; break;
    case Ending::Kind::unknown: text += "ended unseen"; break;
  }
  text += "; cause ";
  text += name(outcome.cause);
  text += outcome.proof ? "; cleanup confirmed: " : "; cleanup not confirmed";
  if (outcome.proof) {
    text += name(*outcome.proof);
    text += " by ";
    text += name(outcome.means);
  }
  return text;
}

// A worker of our user may have closed the session's directory to its owner; we hold it open, and
// give the owner back what the protocol needs.
void keep_directory_usable(sys::Gate& gate, int directory) {
  constexpr unsigned kOwnerAll = 0700;
  if (directory == kWorkingDirectory) return;
  const auto status = sys::fstat(gate, directory);
  if (!status || (status->st_mode & kOwnerAll) == kOwnerAll) return;
  (void)sys::change_mode(gate, directory, (status->st_mode & 07777) | kOwnerAll);
}

void add_line(std::string& message, std::string_view line) {
  message += "quietus: ";
  message += line;
  message += '\n';
}

}  // namespace

sys::Result<std::string> make_token(sys::Gate& gate) {
  char bytes[8];
  if (const auto filled = sys::random_bytes(gate, bytes); !filled) {
    return tl::unexpected(filled.error());
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string token;
  for (const char byte : bytes) {
    token += kHex[(static_cast<unsigned char>(byte) >> 4) & 0xF];
    token += kHex[static_cast<unsigned char>(byte) & 0xF];
  }
  return token;
}

std::string absolute_path(sys::Gate& gate, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  const auto here = sys::working_directory(gate);
  // A directory that was deleted has no name any more, but relative paths still work in it.
  return here ? *here + '/' + path : path;
}

std::string temporary_path(const std::string& path, std::string_view token) {
  return sys::directory_of(path) + "/.quietus-" + std::string(token);
}

Conclusion conclude(sys::Gate& gate, const Options& options, Outcome& outcome,
                    std::string_view token, Herald* herald) {
  Conclusion conclusion;
  Records records = Records::written;
  keep_directory_usable(gate, options.control.directory);
  if (outcome.wall_end_ns == 0) {
    // Nothing was started, so nobody has looked at the clock since.
    outcome.wall_end_ns = sys::wall_clock_ns(gate);
    if (outcome.wall_start_ns == 0) outcome.wall_start_ns = outcome.wall_end_ns;
    outcome.total = Span(outcome.wall_end_ns - outcome.wall_start_ns);
  }
  if (!options.report.empty()) {
    const auto written = write_report(gate, options, outcome, token);
    if (!written) {
      records = Records::missing;
      outcome.trouble("report: " + sys::errno_text(written.error().code, options.report));
    }
  }
  if (!options.receipt.empty()) {
    const auto written = write_receipt(gate, options, outcome, token, records, herald);
    if (!written) {
      records = Records::missing;
      add_line(conclusion.message, "cannot write the receipt: " +
                                       sys::errno_text(written.error().code, options.receipt));
      add_line(conclusion.message, how_it_ended(outcome));
    }
  }
  conclusion.exit_code = exit_code_of(options, outcome, records);
  // Whoever has a receipt reads the error there; `run` without one has only us.
  const bool tell = options.form != Form::bare && options.verbosity >= 0 && outcome.error;
  if (tell) add_line(conclusion.message, *outcome.error);
  if (options.verbosity > 0) add_line(conclusion.message, how_it_ended(outcome));
  return conclusion;
}

}  // namespace quietus
