// Adapter files, patterns and what harnesses write: any bytes are read or refused in one line, and
// what a pattern takes from a listing stays where it is put.
#include <filesystem>
#include <string>

#include "client/adapters/glob.hpp"
#include "client/adapters/results.hpp"
#include "client/adapters/spec.hpp"
#include "property.hpp"

using fuzz::require;
using namespace quietus;
using namespace quietus::adapters;

namespace {

bool is_one_line(std::string_view text) {
  for (const char one : text) {
    if (static_cast<unsigned char>(one) < ' ') return false;
  }
  return !text.empty();
}

void check_command(const AdapterSpec& spec) {
  Values values{.workdir = "/w", .session = "/s", .home = "/h", .input = "/s/i", .input_text = "t"};
  values.environment = [](std::string_view) { return std::string("v"); };
  AdapterRun run{.session = "/s", .environment = values.environment};
  for (const AdapterParameter& one : spec.parameters) run.parameters[one.name] = "{p}";
  require(resolve_parameters(spec, run, values).has_value(), "given parameters are all there are");
  const auto command = build_command(spec, run, values);
  if (!command) return;
  require(!command->argv.empty(), "a command has a program");
  for (const std::string& word : command->argv) {
    require(word.find('\0') == std::string::npos, "a word has no NUL");
  }
}

void check_file(std::string_view text) {
  const auto spec = parse_spec(text, "a.toml");
  if (spec) {
    check_command(*spec);
  } else {
    require(is_one_line(spec.error().message), "an error is one line");
    require(spec.error().message.starts_with("a.toml:"), "an error says where");
  }
}

void check_glob(std::string_view pattern, std::string_view path) {
  const auto glob = Glob::parse(pattern);
  if (!glob) return;
  const auto rest = glob->match(path);
  if (rest && !glob->literal()) {
    const auto local = (std::filesystem::path("/d") / *rest).lexically_normal().string();
    require(local.starts_with("/d/") && local.size() > 3, "a match stays below its destination");
  }
  const auto itself = Glob::parse(glob_literal(glob->base()));
  require(glob->base() == "/" || (itself && itself->literal() && itself->base() == glob->base()),
          "a path is its own pattern");
}

void check_results(std::string_view pointer, std::string_view bytes) {
  const auto place = Pointer::parse(pointer);
  if (!place) return;
  for (const auto& result :
       {read_json(bytes, *place), read_json_lines(bytes, *place, {}),
        read_json_lines(bytes, *place, {{*place, "\"text\""}}), read_text(bytes)}) {
    if (!result) continue;
    require(read_json(result->json, Pointer{}).has_value(), "a result is JSON");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(fuzz::text_of(data, size));
  switch (input.byte()) {
    case 'g': {
      const std::string_view pattern = input.word('\n');
      check_glob(pattern, input.rest());
      break;
    }
    case 'r': {
      const std::string_view pointer = input.word('\n');
      check_results(pointer, input.rest());
      break;
    }
    default: check_file(input.rest());
  }
  return 0;
}
