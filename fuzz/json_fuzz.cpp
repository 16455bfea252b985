// The JSON writer: a value of any shape and bytes is written, read by another reader and compared.
// Then a receipt and a report with such bytes in them.
//
// Module: contract/json.cpp contract/receipt.cpp contract/report.cpp
#include <algorithm>
#include <limits>
#include <string>

#include "contract/json.hpp"
#include "contract/receipt_parse.hpp"
#include "contract/report.hpp"
#include "json_reader.hpp"
#include "property.hpp"

using fuzz::Input;
using fuzz::require;
using nlohmann::json;
using quietus::JsonWriter;

namespace {

constexpr int kDeepest = 8;

std::string text_from(Input& input) { return std::string(input.bytes(input.byte() % 32)); }

std::int64_t span_from(Input& input) { return std::max(input.number(), -INT64_MAX); }

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// What the writer should have made of these bytes; null where they are no UTF-8.
json expected_text(const std::string& bytes) {
  try {
    return json::parse(json(bytes).dump());
  } catch (const json::exception&) {
    return {};
  }
}

// Writes one value and gives what a reader should see; `discarded` stands for "any text".
json write_value(JsonWriter& writer, Input& input, int depth) {
  const int kind = input.byte() % 8;
  if (depth >= kDeepest && kind >= 6) return writer.null(), json();
  switch (kind) {
    case 0: return writer.null(), json();
    case 1: return writer.boolean(true), json(true);
    case 2: return writer.boolean(false), json(false);
    case 3: {
      const std::int64_t value = input.number();
      return writer.number(value), json(value);
    }
    case 4: {
      const std::int64_t value = span_from(input);
      writer.seconds(value);
      return json(static_cast<double>(value / 1000) / 1e6);
    }
    case 5: {
      const std::string text = text_from(input);
      writer.text(text);
      const json expected = expected_text(text);
      return expected.is_null() ? json(json::value_t::discarded) : expected;
    }
    case 6: {
      json array = json::array();
      writer.begin_array();
      for (int left = input.byte() % 5; left > 0; --left) {
        array.push_back(write_value(writer, input, depth + 1));
      }
      return writer.end_array(), array;
    }
    default: {
      json object = json::object();
      writer.begin_object();
      for (int left = input.byte() % 5; left > 0; --left) {
        const std::string name(1, static_cast<char>('a' + left));
        writer.key(name);
        object[name] = write_value(writer, input, depth + 1);
      }
      return writer.end_object(), object;
    }
  }
}

bool matches(const json& expected, const json& got) {
  if (expected.is_discarded()) return got.is_string();
  if (expected.is_number_float()) {
    const double a = expected.get<double>();
    const double b = got.get<double>();
    return std::abs(a - b) <= 1e-6 + std::abs(a) * 1e-12;
  }
  if (expected.size() != got.size() || expected.type() != got.type()) {
    return expected.is_number() && expected == got;
  }
  if (!expected.is_structured()) return expected == got;
  for (auto a = expected.begin(), b = got.begin(); a != expected.end(); ++a, ++b) {
    if (!matches(*a, *b)) return false;
  }
  return true;
}

void check_receipt(Input& input) {
  quietus::Receipt receipt;
  receipt.cleanup_confirmed = (input.byte() & 1) != 0;
  receipt.timed_out = (input.byte() & 1) != 0;
  if ((input.byte() & 1) != 0) receipt.return_code = static_cast<int>(input.number());
  if ((input.byte() & 1) != 0) receipt.error = text_from(input);
  const std::string text = quietus::receipt_json(receipt);
  const auto parsed = quietus::parse_receipt(text);
  require(parsed && parsed->strict, "our own receipt is strict");
  require(parsed->receipt.cleanup_confirmed == receipt.cleanup_confirmed &&
              parsed->receipt.return_code == receipt.return_code &&
              parsed->receipt.timed_out == receipt.timed_out,
          "and says what it was told");
  if (receipt.error && !is_ascii(*receipt.error)) return;
  require(parsed->receipt.error == receipt.error, "the error too");
  require(quietus::receipt_json(parsed->receipt) == text, "and is written as the same bytes");
}

void check_report(Input& input) {
  quietus::Outcome outcome;
  outcome.ending = {static_cast<quietus::Ending::Kind>(input.byte() % 4), input.byte()};
  outcome.stop_by = text_from(input);
  outcome.error = text_from(input);
  outcome.wall_start_ns = input.number();
  outcome.total = quietus::Span(span_from(input));
  quietus::Process process;
  process.pid = static_cast<int>(input.number());
  process.state = static_cast<char>(input.byte());
  process.start_ticks = static_cast<std::uint64_t>(input.number());
  process.comm = text_from(input);
  process.command_line = text_from(input);
  outcome.survivors.push_back(process);
  outcome.kept.push_back(process);
  outcome.steps.push_back({.action = "terminate",
                           .signal = input.byte(),
                           .at = quietus::Span(span_from(input)),
                           .until = quietus::Span(span_from(input)),
                           .rounds = input.number(),
                           .reached = input.number()});
  outcome.fell_back(text_from(input), input.byte(), text_from(input));
  outcome.notes.push_back(text_from(input));
  const std::string text = quietus::report_json(outcome);
  require(is_ascii(text), "a report is ASCII");
  const json report = fuzz::read_json(text);
  require(report.is_object(), "a report is JSON");
  require(report.at("survivors").size() == 1, "and holds the survivor");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(fuzz::text_of(data, size));
  JsonWriter writer;
  const json expected = write_value(writer, input, 0);
  const std::string text = writer.take();
  require(is_ascii(text) && text.find('\n') == text.npos, "JSON of ours is one line of ASCII");
  const json got = fuzz::read_json(text);
  require(!got.is_discarded(), "what we write is JSON");
  require(matches(expected, got), "and says what was written");
  check_receipt(input);
  check_report(input);
  return 0;
}
