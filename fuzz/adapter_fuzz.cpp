// Adapter files, patterns and what harnesses write: any bytes are read or refused in one line, and
// what a pattern takes from a listing stays where it is put.
//
// Module: client/adapters/command.cpp client/adapters/parse.cpp client/src/glob.cpp
// Module: client/adapters/placeholders.cpp client/adapters/results.cpp
// Module: client/adapters/toml_reader.cpp client/src/toml_fault.cpp
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "client/adapters/results.hpp"
#include "client/adapters/spec.hpp"
#include "property.hpp"
#include "quietus/glob.hpp"

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

Values all_values() {
  Values values{.workdir = "/w", .session = "/s", .home = "/h", .input = "/s/i", .input_text = "t"};
  values.environment = [](std::string_view) { return std::string("v"); };
  return values;
}

struct Known {
  Source source;
  std::optional<std::string> Values::*value;
};
constexpr Known kKnown[] = {{Source::workdir, &Values::workdir},
                            {Source::session, &Values::session},
                            {Source::home, &Values::home},
                            {Source::input, &Values::input},
                            {Source::input_text, &Values::input_text}};

// What no text asks for need not be known.
void check_unknown(const AdapterSpec& spec, const AdapterRun& run, const Values& values,
                   const Expected<SessionCommand>& command) {
  for (const Known& known : kKnown) {
    Values fewer = values;
    (fewer.*known.value).reset();
    const auto other = build_command(spec, run, fewer);
    require(spec.stage_uses(known.source) || (other.has_value() == command.has_value() &&
                                              (!other || other->argv == command->argv)),
            "a command needs what its texts ask for");
    for (const ArtifactSpec& one : spec.artifacts) {
      const auto glob = expand(one.glob, fewer, glob_literal);
      require(glob || spec.collect_uses(known.source) || !expand(one.glob, values, glob_literal),
              "so does an artifact");
      if (glob) (void)Glob::parse(*glob);
    }
    for (const FileSpec& one : spec.files) {
      const auto path = inside_path(one.to, fewer);
      require(path ? path->starts_with('/') : is_one_line(path.error().message),
              "a path inside is absolute");
    }
  }
}

// Nothing is set: each default stands for itself, or the parameter that has none is told.
void check_defaults(const AdapterSpec& spec) {
  const AdapterRun none{.session = "/s",
                        .environment = [](std::string_view) { return std::nullopt; }};
  Values values = all_values();
  const auto resolved = resolve_parameters(spec, none, values);
  require(resolved ? values.parameters.size() == spec.parameters.size()
                   : is_one_line(resolved.error().message),
          "a parameter has a value, or is told");
  for (const Known& known : kKnown) {
    Values fewer = all_values();
    (fewer.*known.value).reset();
    const auto other = resolve_parameters(spec, none, fewer);
    require(defaults_use(spec, none, known.source) || other.has_value() == resolved.has_value(),
            "a default needs what it asks for");
  }
  AdapterRun stranger = none;
  stranger.parameters["."] = "";
  require(!resolve_parameters(spec, stranger, values), "nobody declared this one");
}

void check_command(const AdapterSpec& spec) {
  for (const std::string& value : {std::string("{p}"), std::string(1, '\0')}) {
    Values values = all_values();
    AdapterRun run{.session = "/s", .arguments = {"word"}, .environment = values.environment};
    for (const AdapterParameter& one : spec.parameters) run.parameters[one.name] = value;
    require(resolve_parameters(spec, run, values).has_value(),
            "given parameters are all there are");
    for (const bool with_words : {true, false}) {
      if (!with_words) run.arguments.clear();
      const auto command = build_command(spec, run, values);
      check_unknown(spec, run, values, command);
      if (!command) continue;
      require(!command->argv.empty(), "a command has a program");
      require(!with_words || std::ranges::count(command->argv, "word") > 0, "no word is lost");
      for (const std::string& word : command->argv) {
        require(word.find('\0') == std::string::npos, "a word has no NUL");
      }
    }
  }
  check_defaults(spec);
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
  if (rest && !glob->literal() && glob->depth()) {
    const auto names = static_cast<std::size_t>(std::ranges::count(*rest, '/')) + 1;
    require(names <= *glob->depth(), "no match is deeper than its pattern");
  }
  if (rest && !glob->literal()) {
    const auto local = (std::filesystem::path("/d") / *rest).lexically_normal().string();
    require(local.starts_with("/d/") && local.size() > 3, "a match stays below its destination");
  }
  const auto itself = Glob::parse(glob_literal(glob->base()));
  require(glob->base() == "/" || (itself && itself->literal() && itself->base() == glob->base()),
          "a path is its own pattern");
}

void check_listing(std::string_view listing) {
  const std::vector<std::string> paths = parse_listing(listing);
  require(std::ranges::adjacent_find(paths, std::ranges::greater_equal()) == paths.end(),
          "a listing is sorted, each path once");
  for (const std::string& path : paths) {
    require(listing.find(path + '\0') != listing.npos, "and whole");
  }
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
    case 'l': check_listing(input.rest()); break;
    case 'r': {
      const std::string_view pointer = input.word('\n');
      check_results(pointer, input.rest());
      break;
    }
    default: check_file(input.rest());
  }
  return 0;
}
