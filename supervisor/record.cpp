#include "supervisor/record.hpp"

#include <cerrno>

#include <fcntl.h>

#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "contract/receipt.hpp"
#include "contract/report.hpp"
#include "contract/signals.hpp"

namespace quietus {
namespace {

constexpr unsigned kOwnerRead = 0400;
constexpr unsigned kRecordMode = 0666;  // the umask takes its part

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

sys::Result<sys::Unit> write_record(sys::Gate& gate, const std::string& path,
                                    std::string_view bytes, std::string_view token, bool sync,
                                    Announcer* announcer, int exit_code) {
  const std::string temporary = temporary_path(path, token);
  auto file = sys::open(gate, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                        kRecordMode);
  if (!file) return tl::unexpected(file.error());
  const auto filled = [&]() -> sys::Result<sys::Unit> {
    const auto status = sys::fstat(gate, file->get());
    if (!status) return tl::unexpected(status.error());
    // A umask that hides the file from its own reader would make it worthless.
    if ((status->st_mode & kOwnerRead) == 0) {
      const auto set = sys::change_mode(gate, file->get(), (status->st_mode & 07777) | kOwnerRead);
      if (!set) return set;
    }
    if (const auto written = sys::write_all(gate, file->get(), bytes); !written) return written;
    if (sync) {
      if (const auto synced = sys::sync(gate, file->get()); !synced) return synced;
    }
    if (announcer != nullptr) {
      announcer->announce({static_cast<std::uint64_t>(status->st_dev),
                           static_cast<std::uint64_t>(status->st_ino), exit_code});
    }
    return sys::rename(gate, temporary.c_str(), path.c_str());
  }();
  if (!filled) {
    (void)sys::unlink(gate, temporary.c_str());  // ours alone; the first error is the one to tell
    return filled;
  }
  if (!sync) return filled;
  const auto directory = sys::open(gate, directory_of(path).c_str(), O_RDONLY | O_DIRECTORY);
  if (!directory) return tl::unexpected(directory.error());
  return sys::sync(gate, directory->get());
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

int exit_code_of(const Options& options, const Outcome& outcome, Records records) {
  return options.form == Form::bare ? bare_exit_code(outcome, records)
                                    : run_exit_code(outcome, records);
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
  return directory_of(path) + "/.quietus-" + std::string(token);
}

Conclusion conclude(sys::Gate& gate, const Options& options, Outcome& outcome,
                    std::string_view token, Announcer* announcer) {
  Conclusion conclusion;
  const auto write = [&](const std::string& path, const std::string& bytes, Announcer* tell) {
    return write_record(gate, path, bytes, token, options.sync, tell, conclusion.exit_code);
  };
  Records records = Records::written;
  if (!options.report.empty()) {
    const auto written = write(options.report, report_json(outcome), nullptr);
    if (!written) {
      records = Records::missing;
      outcome.trouble("report: " + sys::errno_text(written.error().code, options.report));
    }
  }
  conclusion.exit_code = exit_code_of(options, outcome, records);
  if (!options.receipt.empty()) {
    const auto written = write(options.receipt, receipt_json(receipt_of(outcome)), announcer);
    if (!written) {
      add_line(conclusion.message, "cannot write the receipt: " +
                                       sys::errno_text(written.error().code, options.receipt));
      add_line(conclusion.message, how_it_ended(outcome));
      conclusion.exit_code = exit_code_of(options, outcome, Records::missing);
    }
  }
  // Whoever has a receipt reads the error there; `run` without one has only us.
  const bool tell = options.form != Form::bare && options.verbosity >= 0 && outcome.error;
  if (tell) add_line(conclusion.message, *outcome.error);
  if (options.verbosity > 0) add_line(conclusion.message, how_it_ended(outcome));
  return conclusion;
}

}  // namespace quietus
