#include "client/adapters/placeholders.hpp"

#include <algorithm>

#include "contract/json.hpp"
#include "quietus/shell.hpp"

namespace quietus::adapters {
namespace {

struct Known {
  std::string_view name;
  Source source;
  std::string_view missing;  // what to give when this run has none
};
constexpr Known kKnown[] = {
    {"workdir", Source::workdir, "say where the command runs (--workdir)"},
    {"session", Source::session, "name a session directory"},
    {"home", Source::home, "set HOME in the sandbox"},
    {"input", Source::input, "give an input file (--input)"},
    {"input.text", Source::input_text, "give an input file (--input)"},
};
constexpr std::string_view kParameter = "param.";
constexpr std::string_view kVariable = "env:";

std::string known_names(Place place, std::span<const std::string> parameters) {
  std::string names;
  if (place == Place::inside) {
    for (const Known& one : kKnown) names += '{' + std::string(one.name) + "}, ";
  }
  for (const std::string& name : parameters) names += '{' + std::string(kParameter) + name + "}, ";
  return names + "{env:NAME}";
}

tl::expected<Placeholder, std::string> parse_placeholder(std::string_view inner, Place place,
                                                         std::span<const std::string> parameters) {
  Placeholder placeholder;
  std::string_view name = inner;
  if (const std::size_t bar = inner.find('|'); bar != std::string_view::npos) {
    name = inner.substr(0, bar);
    const std::string_view form = inner.substr(bar + 1);
    if (form != "json" && form != "shell") {
      return tl::unexpected("must have json or shell behind the | of a placeholder, not '" +
                            std::string(form) + "'");
    }
    placeholder.form = form == "json" ? Form::json : Form::shell;
  }
  if (name.starts_with(kVariable) && name.size() > kVariable.size()) {
    placeholder.source = Source::environment;
    placeholder.name = name.substr(kVariable.size());
    return placeholder;
  }
  if (name.starts_with(kParameter) &&
      std::ranges::find(parameters, name.substr(kParameter.size())) != parameters.end()) {
    placeholder.source = Source::parameter;
    placeholder.name = name.substr(kParameter.size());
    return placeholder;
  }
  const auto* const known = std::ranges::find(kKnown, name, &Known::name);
  if (known != std::end(kKnown) && place == Place::inside) {
    placeholder.source = known->source;
    return placeholder;
  }
  if (name == "arguments") {
    return tl::unexpected(
        std::string("must have {arguments} as a word of its own in command.argv"));
  }
  return tl::unexpected("has an unknown placeholder {" + std::string(inner) + "}; there are " +
                        known_names(place, parameters) + "; a brace is written {{ or }}");
}

std::string formed(std::string_view value, Form form) {
  switch (form) {
    case Form::plain: return std::string(value);
    case Form::json: return JsonWriter().text(value).take();
    case Form::shell: return shell_quote(value);
  }
  return {};
}

tl::unexpected<Error> missing(std::string_view name, std::string advice) {
  return fail(ErrorKind::input,
              "the adapter asks for {" + std::string(name) + "}, which is not known",
              std::move(advice));
}

Expected<std::string> value_of(const Placeholder& placeholder, const Values& values) {
  const auto built_in = [&](const std::optional<std::string>& value) -> Expected<std::string> {
    if (value) return *value;
    const auto* const known = std::ranges::find(kKnown, placeholder.source, &Known::source);
    return missing(known->name, std::string(known->missing));
  };
  switch (placeholder.source) {
    case Source::workdir: return built_in(values.workdir);
    case Source::session: return built_in(values.session);
    case Source::home: return built_in(values.home);
    case Source::input: return built_in(values.input);
    case Source::input_text: return built_in(values.input_text);
    case Source::environment: {
      auto value = values.environment ? values.environment(placeholder.name) : std::nullopt;
      if (value) return *std::move(value);
      return missing(std::string(kVariable) + placeholder.name,
                     "set the variable " + placeholder.name);
    }
    case Source::parameter: {
      const auto found = values.parameters.find(placeholder.name);
      if (found != values.parameters.end()) return found->second;
      return missing(std::string(kParameter) + placeholder.name,
                     "set it: --param " + placeholder.name + "=VALUE");
    }
  }
  return missing("", "");
}

}  // namespace

tl::expected<Text, std::string> Text::parse(std::string_view text, Place place,
                                            std::span<const std::string> parameters) {
  Text parsed;
  std::string literal;
  const auto flush = [&] {
    if (!literal.empty()) parsed.pieces_.push_back({.literal = std::exchange(literal, {})});
  };
  while (!text.empty()) {
    const char first = text.front();
    if ((first == '{' || first == '}') && text.size() > 1 && text[1] == first) {
      literal += first;
      text.remove_prefix(2);
    } else if (first == '}') {
      return tl::unexpected(std::string("has a single }; a brace is written {{ or }}"));
    } else if (first == '{') {
      const std::size_t end = text.find_first_of("{}", 1);
      if (end == std::string_view::npos || text[end] != '}') {
        return tl::unexpected(std::string("has a { without its }; a brace is written {{ or }}"));
      }
      auto placeholder = parse_placeholder(text.substr(1, end - 1), place, parameters);
      if (!placeholder) return tl::unexpected(std::move(placeholder).error());
      flush();
      parsed.pieces_.push_back({.placeholder = *std::move(placeholder)});
      text.remove_prefix(end + 1);
    } else {
      literal += first;
      text.remove_prefix(1);
    }
  }
  flush();
  return parsed;
}

bool Text::uses(Source source) const {
  return std::ranges::any_of(pieces_, [&](const Piece& piece) {
    return piece.placeholder && piece.placeholder->source == source;
  });
}

Expected<std::string> expand(const Text& text, const Values& values,
                             const std::function<std::string(std::string_view)>& guard) {
  std::string out;
  for (const Text::Piece& piece : text.pieces_) {
    if (!piece.placeholder) {
      out += piece.literal;
      continue;
    }
    const auto value = value_of(*piece.placeholder, values);
    if (!value) return fail(value.error());
    const std::string written = formed(*value, piece.placeholder->form);
    out += guard ? guard(written) : written;
  }
  return out;
}

}  // namespace quietus::adapters
