// Any way in that can be written as a command line, from a TOML file:
//
//     exec = ["mycli", "exec", "--dir={cwd}", "--env={env}", "web-1", "--", "{argv}"]
//     copy_in = ["mycli", "push", "{local}", "web-1:{inside}"]      # optional, as all that follow
//     copy_out = ["mycli", "pull", "web-1:{inside}", "{local}"]
//     status = ["mycli", "ping", "web-1"]                            # runs if it exits with 0
//     stop = ["mycli", "delete", "web-1"]
//     disconnect = ["mycli", "logout"]
//     quoting = "shell"         # {argv} is one word, quoted for a shell; default "words"
//     client_failed = [255]     # exit codes that mean that the client itself failed
//
//     [traits]                  # default: nothing can be trusted, and stdin arrives
//     exit_code = true          # as in quietus/sandbox.hpp
//     signals = true
//     stdin = true
//     stdin_end = true
//     outlives_client = false
//     files_outlive_stop = false
//
// A word that is just "{argv}" becomes all the words of the command. A word that holds {cwd},
// {user} or {env} is left out where there is none, so that {argv} must not be in it, and {env}
// words are repeated for each variable. What a template has no word for is put before the command
// as `sh -c 'cd ...'` and `env`.
#include <algorithm>

#include "client/src/local_file.hpp"
#include "client/src/shown_text.hpp"
#include "client/transports/common.hpp"
#include "contract/decimal.hpp"
#include "quietus/shell.hpp"
#include "quietus/toml_fault.hpp"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace quietus::transports {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

struct TemplateText {
  std::string file;
  Words exec;
  Words copy_in;
  Words copy_out;
  Words status;
  Words stop;
  Words disconnect;
  bool shell_quoting = false;
  std::vector<std::int64_t> client_failed;
  Traits traits;
};

bool mentions(const Words& words, std::string_view placeholder) {
  return std::ranges::any_of(
      words, [&](const std::string& word) { return word.find(placeholder) != std::string::npos; });
}

struct Value {
  std::string_view placeholder;
  std::string_view value;
};

// Every placeholder in one pass: what a value holds is not looked at again.
std::string expanded(std::string_view word, std::initializer_list<Value> values) {
  std::string text;
  while (!word.empty()) {
    const auto* const found = std::ranges::find_if(
        values, [&](const Value& one) { return word.starts_with(one.placeholder); });
    if (found != values.end()) {
      text += found->value;
      word.remove_prefix(found->placeholder.size());
    } else {
      text += word.front();
      word.remove_prefix(1);
    }
  }
  return text;
}

bool holds(std::string_view word, std::string_view placeholder) {
  return word.find(placeholder) != std::string_view::npos;
}

// Whether the word is left out where there is nothing to put into it.
bool leaves(std::string_view word) {
  return holds(word, "{cwd}") || holds(word, "{user}") || holds(word, "{env}");
}

class Template final : public Transport {
 public:
  explicit Template(TemplateText text) : text_(std::move(text)) {}

  [[nodiscard]] std::string name() const override { return "template:" + text_.file; }
  [[nodiscard]] Traits traits() const override { return text_.traits; }

  [[nodiscard]] Expected<HostCommand> exec(const InsideCommand& given) const override {
    InsideCommand rest = given;
    if (!rest.user.empty() && !mentions(text_.exec, "{user}")) {
      return cannot_change_user("template", "add a word with {user} to its exec line");
    }
    if (mentions(text_.exec, "{cwd}")) rest.cwd.clear();
    if (mentions(text_.exec, "{env}")) rest.environment.clear();
    const Words argv = with_environment(rest);
    const std::string line = shell_join(argv);
    Words words;
    for (const std::string& word : text_.exec) {
      if (word == "{argv}" && !text_.shell_quoting) {
        words = std::move(words) + argv;
      } else if (holds(word, "{env}")) {
        for (const EnvironmentEntry& entry : given.environment) {
          words.push_back(expanded(word, {{"{env}", assignment(entry)}}));
        }
      } else if (!(holds(word, "{cwd}") && given.cwd.empty()) &&
                 !(holds(word, "{user}") && given.user.empty())) {
        words.push_back(
            expanded(word, {{"{cwd}", given.cwd}, {"{user}", given.user}, {"{argv}", line}}));
      }
    }
    return HostCommand{std::move(words)};
  }

  [[nodiscard]] std::optional<Error> failure(const ClientEnd& end) const override {
    const auto is_code = [&](std::int64_t code) { return end.code == code; };
    if (std::ranges::none_of(text_.client_failed, is_code)) return std::nullopt;
    return Error{ErrorKind::transport, text_.exec.front() + " failed: " + first_line(end.err), {}};
  }

  [[nodiscard]] std::optional<HostCommand> copy_in(std::string_view local,
                                                   std::string_view inside) const override {
    return copy(text_.copy_in, local, inside);
  }
  [[nodiscard]] std::optional<HostCommand> copy_out(std::string_view inside,
                                                    std::string_view local) const override {
    return copy(text_.copy_out, local, inside);
  }
  [[nodiscard]] std::optional<HostCommand> status() const override { return plain(text_.status); }
  [[nodiscard]] SandboxStatus read_status(const ClientEnd& end) const override {
    return end.code == 0 ? SandboxStatus::running : SandboxStatus::stopped;
  }
  [[nodiscard]] std::optional<HostCommand> stop() const override { return plain(text_.stop); }
  [[nodiscard]] std::optional<HostCommand> disconnect() const override {
    return plain(text_.disconnect);
  }

 private:
  static std::optional<HostCommand> plain(const Words& words) {
    if (words.empty()) return std::nullopt;
    return HostCommand{words};
  }
  static std::optional<HostCommand> copy(const Words& words, std::string_view local,
                                         std::string_view inside) {
    if (words.empty()) return std::nullopt;
    HostCommand command;
    for (const std::string& word : words) {
      command.argv.push_back(expanded(word, {{"{local}", local}, {"{inside}", inside}}));
    }
    return command;
  }

  TemplateText text_;
};

class Reader {
 public:
  explicit Reader(const toml::table& table) : table_(table) {}

  bool words(const char* key, Words& into) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return true;
    const toml::array* array = node->as_array();
    if (array == nullptr || array->empty()) return wrong(key, "must be a list of words");
    for (const toml::node& element : *array) {
      const auto word = element.value_exact<std::string>();
      if (!word) return wrong(key, "must be a list of words");
      into.push_back(*word);
    }
    return !into.front().empty() || wrong(key, "must begin with a program");
  }
  bool numbers(const char* key, std::vector<std::int64_t>& into) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return true;
    const toml::array* array = node->as_array();
    if (array == nullptr) return wrong(key, "must be a list of numbers");
    for (const toml::node& element : *array) {
      const auto number = element.value_exact<std::int64_t>();
      if (!number) return wrong(key, "must be a list of numbers");
      into.push_back(*number);
    }
    return true;
  }
  bool text(const char* key, std::string& into) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return true;
    const auto value = node->value_exact<std::string>();
    if (!value) return wrong(key, "must be a text");
    into = *value;
    return true;
  }
  bool flag(const toml::table& table, const char* key, bool& into) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return true;
    const auto value = node->value_exact<bool>();
    if (!value) return wrong(key, "must be true or false");
    into = *value;
    return true;
  }
  bool traits(Traits& into) {
    const toml::node* node = table_.get("traits");
    if (node == nullptr) return true;
    const toml::table* table = node->as_table();
    if (table == nullptr) return wrong("traits", "must be a table");
    return known(*table, {"exit_code", "signals", "stdin", "stdin_end", "outlives_client",
                          "files_outlive_stop"}) &&
           flag(*table, "exit_code", into.exit_code_is_the_commands) &&
           flag(*table, "signals", into.passes_signals) &&
           flag(*table, "stdin", into.carries_stdin) &&
           flag(*table, "stdin_end", into.passes_stdin_end) &&
           flag(*table, "outlives_client", into.outlives_client) &&
           flag(*table, "files_outlive_stop", into.files_outlive_stop);
  }
  // A misspelt key would silently be a missing one.
  bool known(const toml::table& table, std::initializer_list<std::string_view> keys) {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(keys, key.str()) == keys.end()) {
        return wrong(key.str(), "is not a key of a template");
      }
    }
    return true;
  }
  bool wrong(std::string_view key, std::string_view rule) {
    error_ = "'" + shown_text(key) + "' " + std::string(rule);
    return false;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  const toml::table& table_;
  std::string error_;
};

}  // namespace

Expected<std::unique_ptr<Transport>> parse_template(std::string_view toml,
                                                    const std::string& file) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorKind::input, "template '" + file + "': " + std::string(why),
                "see the example in docs/controller.md");
  };
  if (const auto fault = find_toml_fault(toml)) {
    return wrong("line " + decimal(fault->line) + ": " + fault->rule);
  }
  const toml::parse_result parsed = toml::parse(toml);
  Reader reader(parsed.table());
  TemplateText text{.file = file};
  text.traits = {.outlives_client = true};
  std::string quoting = "words";
  if (!reader.known(parsed.table(), {"exec", "copy_in", "copy_out", "status", "stop", "disconnect",
                                     "quoting", "client_failed", "traits"}) ||
      !reader.words("exec", text.exec) || !reader.words("copy_in", text.copy_in) ||
      !reader.words("copy_out", text.copy_out) || !reader.words("status", text.status) ||
      !reader.words("stop", text.stop) || !reader.words("disconnect", text.disconnect) ||
      !reader.text("quoting", quoting) || !reader.numbers("client_failed", text.client_failed) ||
      !reader.traits(text.traits)) {
    return wrong(reader.error());
  }
  if (!mentions(text.exec, "{argv}")) return wrong("'exec' must hold a word with {argv}");
  if (quoting != "words" && quoting != "shell") return wrong("'quoting' must be words or shell");
  text.shell_quoting = quoting == "shell";
  const auto holds_argv = [](const std::string& word) {
    return holds(word, "{argv}") && word != "{argv}";
  };
  if (!text.shell_quoting && std::ranges::any_of(text.exec, holds_argv)) {
    return wrong("{argv} must be a word of its own, unless quoting is \"shell\"");
  }
  // With such a word the command, or the client itself, would be left out.
  const auto holds_all = [](const std::string& word) {
    return holds(word, "{argv}") && leaves(word);
  };
  if (std::ranges::any_of(text.exec, holds_all)) {
    return wrong("{argv} must not stand in one word with {cwd}, {user} or {env}");
  }
  if (leaves(text.exec.front())) return wrong("'exec' must begin with a program");
  return std::make_unique<Template>(std::move(text));
}

Expected<std::unique_ptr<Transport>> make_template(const std::string& file) {
  const auto toml = read_local_file(file, kMostBytes);
  if (!toml) return fail(ErrorKind::input, "template '" + file + "': " + toml.error().message);
  return parse_template(*toml, file);
}

}  // namespace quietus::transports
