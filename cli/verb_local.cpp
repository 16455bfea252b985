// The verbs that reach no sandbox: receipt, config, version.
#include "cli/help.hpp"
#include "cli/read_file.hpp"
#include "cli/verbs.hpp"
#include "contract/exit_code.hpp"
#include "quietus_version.hpp"

namespace quietus::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) (text += text.empty() ? "" : " ") += word;
  return text;
}

}  // namespace

int receipt_verb(const CommandLine& line, Screen& screen) {
  const auto text = read_file(line.words.front(), kMostBytes);
  const auto explanation = text ? explain(*text) : Expected<Explanation>(fail(text.error()));
  if (!explanation) {
    if (screen.is_json()) {
      screen.json({{"error", error_json(explanation.error())}});
    } else {
      screen.error(explanation.error().text());
    }
    return kExitFailed;
  }
  if (screen.is_json()) {
    screen.json(explanation_json(*explanation));
  } else {
    for (const std::string& sentence : explanation->sentences) screen.out(sentence + '\n');
  }
  return explanation->receipt.cleanup_confirmed ? kExitSuccess : kExitNotConfirmed;
}

int config_verb(const CommandLine& line, const Layer& layer, Screen& screen) {
  nlohmann::json json = nlohmann::json::object();
  std::string text;
  for (const auto& [key, setting] : layer) {
    const bool list = key == "create_options" || key.starts_with("program.");
    json[key]["value"] =
        list ? nlohmann::json(setting.words) : nlohmann::json(joined(setting.words));
    if (line.origin) json[key]["origin"] = setting.origin;
    text += key + " = " + joined(setting.words);
    if (line.origin) text += "    # " + setting.origin;
    text += '\n';
  }
  screen.is_json() ? screen.json(json) : screen.out(text);
  return kExitSuccess;
}

int version_verb(Screen& screen) {
  if (screen.is_json()) {
    screen.json({{"name", "quietusctl"}, {"version", kVersion}, {"commit", kCommit}});
  } else {
    screen.out(version_text());
  }
  return kExitSuccess;
}

}  // namespace quietus::cli
