#include "client/src/launch_words.hpp"

#include "contract/decimal.hpp"

namespace quietus {

std::string seconds_text(Span span) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::string text = decimal(span.count() / kSecond);
  std::string fraction = decimal(span.count() % kSecond);
  fraction.insert(0, 9 - fraction.size(), '0');
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? text : text + '.' + fraction;
}

bool uses_lease(const SessionOptions& options, const Traits& traits) {
  switch (options.lease) {
    case Lease::none: return false;
    case Lease::standard_input: return true;
    case Lease::by_transport: return traits.passes_stdin_end && traits.carries_stdin;
  }
  return false;
}

std::vector<std::string> verb_words(std::string_view supervisor, std::string_view verb,
                                    std::string_view directory,
                                    const std::vector<std::string>& more) {
  std::vector<std::string> words = {std::string(supervisor), std::string(verb), "--session",
                                    std::string(directory)};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> launch_words(std::string_view supervisor, const SessionOptions& options,
                                      const Traits& traits, const SessionCommand& command,
                                      Span timeout, Span cleanup) {
  auto words = verb_words(supervisor, "launch", options.directory);
  const auto add = [&](const char* option, std::string value) {
    words.emplace_back(option);
    words.push_back(std::move(value));
  };
  if (timeout < kForever) add("--timeout", seconds_text(timeout));
  add("--cleanup-timeout", seconds_text(cleanup));
  switch (options.descendants) {
    // The supervisor carries the output itself then; who outlives it would lose his pipe.
    case Descendants::tree: add("--output-limit", decimal(options.output_limit)); break;
    case Descendants::group: add("--descendants", "group"); break;
    case Descendants::keep_on_success: add("--descendants", "keep-on-success"); break;
  }
  if (uses_lease(options, traits)) add("--lease", "stdin");
  const bool owned = options.ownership == Ownership::owned;
  if (options.shield == Shield::required) words.emplace_back("--shield");
  if (options.shield == Shield::attempt || (options.shield == Shield::by_ownership && owned)) {
    words.emplace_back("--shield=try");
  }
  if (!options.workdir.empty()) add("--chdir", options.workdir);
  for (const auto& [name, value] : command.environment) add("--setenv", name + '=' + value);
  words.insert(words.end(), options.launch_options.begin(), options.launch_options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.argv.begin(), command.argv.end());
  return words;
}

}  // namespace quietus
