#include "cli/jobs.hpp"

#include <algorithm>
#include <optional>

#include "cli/artifact_pattern.hpp"
#include "contract/decimal.hpp"
#include "contract/duration.hpp"

namespace quietus::cli {
namespace {

using Json = nlohmann::json;

class JobReader {
 public:
  JobReader(const Json& object, Job& job) : object_(object), job_(job) {}

  std::optional<std::string> read(const Settings& settings) {
    SessionPlan& plan = job_.plan;
    for (const auto& [key, value] : object_.items()) take(key, value);
    if (error_) return error_;
    if (plan.argv.empty()) return "command: a list of at least one text is needed";
    if (plan.argv.front().empty()) return "command: its first word is empty";
    if (plan.sandbox.empty() && settings.sandboxes.empty()) {
      return "sandbox: neither the job nor --sandbox says where";
    }
    if (plan.sandbox.empty()) plan.sandbox = settings.sandboxes.front();
    if (plan.globs.empty() != plan.into.empty()) return "collect and into go together";
    return std::nullopt;
  }

 private:
  void take(const std::string& key, const Json& value) {
    SessionPlan& plan = job_.plan;
    if (key == "name") {
      text(key, value, job_.name);
    } else if (key == "command") {
      texts(key, value, plan.argv);
    } else if (key == "sandbox") {
      text(key, value, plan.sandbox);
    } else if (key == "workdir") {
      text(key, value, plan.workdir);
      if (!plan.workdir.starts_with('/')) refuse(key + ": must be an absolute path");
    } else if (key == "into") {
      text(key, value, plan.into);
    } else if (key == "collect") {
      texts(key, value, plan.globs);
      for (const std::string& glob : plan.globs) {
        const auto pattern = parse_pattern(glob);
        if (!pattern) refuse(key + ": " + shown_value(glob) + ' ' + pattern.error());
      }
    } else if (key == "timeout") {
      timeout(value);
    } else if (key == "environment") {
      environment(value);
    } else {
      refuse("there is no key " + shown_value(key));
    }
  }

  void text(const std::string& key, const Json& value, std::string& into) {
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      return refuse(key + ": must be a text");
    }
    into = value.get<std::string>();
  }

  void texts(const std::string& key, const Json& value, std::vector<std::string>& into) {
    const bool right = value.is_array() && std::ranges::all_of(value, [](const Json& each) {
                         return each.is_string();
                       });
    if (!right) return refuse(key + ": must be a list of texts");
    into = value.get<std::vector<std::string>>();
  }

  void timeout(const Json& value) {
    const std::string text = value.is_string()   ? value.get<std::string>()
                             : value.is_number() ? value.dump()
                                                 : std::string();
    const auto span = parse_duration(text, Units::suffixes);
    if (!span) {
      return refuse("timeout: must be " + std::string(span.error()) + ", not " + value.dump());
    }
    job_.plan.timeout = *span;
  }

  void environment(const Json& value) {
    if (!value.is_object()) return refuse("environment: must be an object of texts");
    for (const auto& [name, each] : value.items()) {
      if (!each.is_string() || name.empty() || name.find('=') != name.npos) {
        return refuse("environment: must be an object of texts");
      }
      job_.plan.environment.emplace_back(name, each.get<std::string>());
    }
  }

  void refuse(std::string why) {
    if (!error_) error_ = std::move(why);
  }

  const Json& object_;
  Job& job_;
  std::optional<std::string> error_;
};

}  // namespace

tl::expected<std::vector<Job>, UsageError> parse_jobs(std::string_view text, std::string_view file,
                                                      const Settings& settings) {
  std::vector<Job> jobs;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const auto wrong = [&](const std::string& why) {
      return tl::unexpected(UsageError{std::string(file) + ':' + decimal(number) + ": " + why});
    };
    const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) return wrong("a job is one JSON object");
    Job job{.name = decimal(number), .plan = {.timeout = settings.timeout}};
    if (const auto error = JobReader(object, job).read(settings)) return wrong(*error);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace quietus::cli
