// srun(1) into an allocation, beside whatever runs in it; or an allocation of our own, by
// salloc(1).
//
// A step ends when its client does. scancel(1) sends TERM, then KILL, and misses what has left the
// session: the supervisor is what ends that.
#include "client/transports/common.hpp"
#include "contract/decimal.hpp"

namespace quietus::transports {
namespace {

class Slurm : public Transport {
 public:
  Slurm(std::string job, const TransportOptions& options)
      : job_(std::move(job)), options_(options) {}

  [[nodiscard]] std::string name() const override { return "slurm:" + job_; }

  [[nodiscard]] Traits traits() const override {
    return {.exit_code_is_the_commands = false,
            .passes_signals = true,
            .passes_stdin_end = true,
            .outlives_client = false,
            .files_outlive_stop = true};
  }

  [[nodiscard]] Expected<HostCommand> exec(const InsideCommand& command) const override {
    if (!command.user.empty()) return cannot_change_user("slurm", "submit as that user");
    // One task on one node: the first of the allocation, so that the files of all calls meet. Not
    // --unbuffered: that means a terminal, which makes other bytes of ours, and tar refuse to
    // write.
    Words words = program(options_, "srun") + Words{"--overlap",  "--jobid=" + job_, "--nodes=1",
                                                    "--ntasks=1", "--relative=0",    "--quiet"};
    words.emplace_back(command.reads_stdin ? "--input=0" : "--input=none");
    words.emplace_back(command.cwd.empty() ? "--chdir=/" : "--chdir=" + command.cwd);
    // Values with commas have no form in --export.
    if (!command.environment.empty()) words.emplace_back("env");
    for (const EnvironmentEntry& entry : command.environment) words.push_back(assignment(entry));
    return HostCommand{std::move(words) + command.argv};
  }

  [[nodiscard]] std::optional<Error> failure(const ClientEnd& end) const override {
    const std::string said = first_line(end.err);
    if (end.code == 0 || !said.starts_with("srun: ")) return std::nullopt;
    // "srun: error: NODE: task 0: Exited with exit code N" is the command's end.
    if (said.find(": task ") != std::string::npos) return std::nullopt;
    return Error{ErrorKind::sandbox, "job " + job_ + ": " + said, "see squeue -j " + job_};
  }

  [[nodiscard]] std::optional<HostCommand> status() const override {
    return HostCommand{program(options_, "squeue") +
                       Words{"--noheader", "--format=%T", "--jobs=" + job_}};
  }
  [[nodiscard]] SandboxStatus read_status(const ClientEnd& end) const override {
    const std::string said = first_line(end.out);
    if (end.code != 0) return is_gone(end) ? SandboxStatus::absent : SandboxStatus::unknown;
    if (said == "RUNNING" || said == "SUSPENDED" || said == "COMPLETING")
      return SandboxStatus::running;
    if (said == "PENDING" || said == "CONFIGURING" || said == "RESIZING") {
      return SandboxStatus::starting;
    }
    if (said == "FAILED" || said == "NODE_FAIL" || said == "BOOT_FAIL") return SandboxStatus::error;
    return SandboxStatus::stopped;  // ended, or not listed any more
  }

  [[nodiscard]] std::optional<HostCommand> stop() const override {
    return HostCommand{program(options_, "scancel") + Words{job_}};
  }
  [[nodiscard]] bool is_gone(const ClientEnd& end) const override {
    return end.err.find("Invalid job id") != std::string_view::npos ||
           end.err.find("already completing or completed") != std::string_view::npos;
  }

 protected:
  [[nodiscard]] const TransportOptions& options() const { return options_; }

 private:
  std::string job_;
  TransportOptions options_;
};

Words split_at_blanks(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

class SlurmNew final : public Slurm {
 public:
  SlurmNew(std::string_view arguments, const TransportOptions& options)
      : Slurm("", options), arguments_(arguments) {}

  [[nodiscard]] std::string name() const override {
    return arguments_.empty() ? "slurm-new" : "slurm-new:" + arguments_;
  }
  [[nodiscard]] bool creates() const override { return true; }
  [[nodiscard]] Expected<HostCommand> create(std::string_view) const override {
    return HostCommand{program(options(), "salloc") + Words{"--no-shell", "--job-name=quietus"} +
                       options().create_arguments + split_at_blanks(arguments_)};
  }
  [[nodiscard]] Expected<std::unique_ptr<Transport>> created(const ClientEnd& end) const override {
    constexpr std::string_view kGranted = "Granted job allocation ";
    const std::size_t at = end.err.find(kGranted);
    if (end.code != 0 || at == std::string_view::npos) {
      return fail(ErrorKind::sandbox, "salloc gave no allocation: " + error_line(end.err),
                  "try it by hand: salloc " + arguments_);
    }
    std::string_view job = end.err.substr(at + kGranted.size());
    job = job.substr(0, job.find_first_not_of("0123456789"));
    return make_slurm(job, options());
  }

 private:
  std::string arguments_;
};

}  // namespace

Expected<std::unique_ptr<Transport>> make_slurm(std::string_view job,
                                                const TransportOptions& options) {
  if (!parse_decimal<std::uint32_t>(job.substr(0, job.find('_')))) {
    return fail(ErrorKind::input, "sandbox 'slurm:" + std::string(job) + "': this is no job number",
                "see squeue --me");
  }
  return std::make_unique<Slurm>(std::string(job), options);
}

std::unique_ptr<Transport> make_slurm_new(std::string_view arguments,
                                          const TransportOptions& options) {
  return std::make_unique<SlurmNew>(arguments, options);
}

}  // namespace quietus::transports
