// The verbs that reach no sandbox: receipt, config, version.
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/help.hpp"
#include "cli/verbs.hpp"
#include "contract/exit_code.hpp"
#include "quietus_version.hpp"

namespace quietus::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

Expected<std::string> read_input(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  if (path != "-" && !file) return fail(ErrorKind::input, "cannot read '" + path + "'");
  std::istream& from = path == "-" ? std::cin : file;
  std::string text;
  char buffer[65536];
  while (from.read(buffer, sizeof buffer) || from.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(from.gcount()));
    if (text.size() > kMostBytes) {
      return fail(ErrorKind::input, "'" + path + "' is too long for a report");
    }
  }
  if (from.bad()) return fail(ErrorKind::input, "cannot read '" + path + "'");
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) (text += text.empty() ? "" : " ") += word;
  return text;
}

}  // namespace

int receipt_verb(const CommandLine& line, Screen& screen) {
  const auto text = read_input(line.words.front());
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
