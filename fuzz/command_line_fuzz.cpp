// The command line: one word a line, then an empty line, then the environment. A refusal is one
// printable line; what is accepted keeps every rule that the rest of the program relies on.
//
// Module: program/command_line.cpp
#include <algorithm>
#include <string>
#include <vector>

#include "program/command_line.hpp"
#include "property.hpp"

using fuzz::require;
using quietus::CommandLine;
using quietus::Descendants;
using quietus::Form;
using quietus::kForever;
using quietus::Options;
using quietus::Span;

namespace {

using Words = std::vector<std::string_view>;

bool in_range(std::optional<Span> span) { return !span || (*span >= Span{1} && *span <= kForever); }

void check_options(const Options& options) {
  require(in_range(options.timeout) && in_range(options.cleanup_timeout), "durations are bounded");
  require(in_range(options.control.lease), "so is a lease");
  require(options.signal >= 1 && options.signal <= 64, "the signal is one");
  const bool tree = options.descendants == Descendants::tree;
  require(tree || !options.isolate, "nobody outlives a namespace");
  require(tree || !options.output_limit, "survivors do not lose their pipe");
  require(!options.output_limit || *options.output_limit > 0, "a limit is not zero");
  require(options.receipt.empty() || options.receipt != options.report, "two files");
  require(options.form != Form::bare || !options.receipt.empty(), "the bare form has a receipt");
  for (const auto& limit : options.worker.limits) require(limit.soft <= limit.hard, "soft <= hard");
  for (const std::string& entry : options.worker.environment) {
    require(entry.find('\n') == entry.npos, "nothing is joined to an entry");
  }
}

void check_command(const CommandLine& line, const Words& words) {
  const auto& argv = line.options.worker.argv;
  if (line.command_fd) {
    require(argv.empty() && (*line.command_fd == 0 || *line.command_fd > 2), "one command only");
    return;
  }
  require(!argv.empty() && argv.size() <= words.size(), "there is a command");
  require(std::equal(argv.rbegin(), argv.rend(), words.rbegin()), "it is what stands at the end");
}

void check(const CommandLine& line, const Words& words) {
  using Verb = CommandLine::Verb;
  require(in_range(line.session.timeout), "how long to wait is bounded");
  switch (line.verb) {
    case Verb::supervise:
      require(line.options.form != Form::launch && !line.detach, "run does not detach");
      check_options(line.options);
      return check_command(line, words);
    case Verb::launch:
      require(!line.session.directory.empty(), "a launch has its directory");
      require(line.options.receipt.empty() && line.options.output.empty(), "and its own files");
      check_options(line.options);
      return check_command(line, words);
    case Verb::probe:
    case Verb::doctor:
    case Verb::help:
    case Verb::version:
    case Verb::version_json: return;
    default: require(!line.session.directory.empty(), "a session has its directory");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(fuzz::text_of(data, size));
  std::ranges::replace(text, '\0', ' ');
  fuzz::Input input(text);
  Words words;
  Words environment;
  while (!input.empty()) {
    const std::string_view word = input.word('\n');
    if (word.empty() && !words.empty()) break;
    words.push_back(word);
  }
  while (!input.empty()) environment.push_back(input.word('\n'));
  const auto line = quietus::parse_command_line(words, environment);
  if (line) {
    check(*line, words);
  } else {
    const std::string& why = line.error().text;
    require(!why.empty() && why.size() < 400, "a refusal is short");
    const auto printable = [](char c) { return c >= ' ' && c != '\x7F'; };
    require(std::ranges::all_of(why, printable), "and one line of text");
  }
  return 0;
}
