// Texts of an adapter with placeholders in braces: {workdir}, {param.model}, {input.text|json}.
// {{ and }} are braces. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "quietus/error.hpp"

namespace quietus::adapters {

enum class Source { workdir, session, home, input, input_text, environment, parameter };
// How a value is written: as it is, as a JSON text with its quotes, as one word for a shell.
enum class Form { plain, json, shell };

struct Placeholder {
  Source source = Source::workdir;
  std::string name = {};  // of the variable or parameter
  Form form = Form::plain;
};

// Where a text stands decides which placeholders it may have.
enum class Place { inside, here };  // here: a path on this machine knows nothing of the sandbox

// A text whose placeholders are known to exist.
class Text {
 public:
  Text() = default;

  // `parameters` are the names that the adapter declares. The error is the rule that was broken.
  static tl::expected<Text, std::string> parse(std::string_view text, Place place,
                                               std::span<const std::string> parameters);

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] bool uses(Source source) const;

 private:
  struct Piece {
    std::string literal = {};
    std::optional<Placeholder> placeholder = {};
  };
  friend Expected<std::string> expand(const Text& text, const struct Values& values,
                                      const std::function<std::string(std::string_view)>& guard);
  std::vector<Piece> pieces_;
};

// What the placeholders of one run stand for; none: this run has no such thing.
struct Values {
  std::optional<std::string> workdir = {};
  std::optional<std::string> session = {};
  std::optional<std::string> home = {};
  std::optional<std::string> input = {};
  std::optional<std::string> input_text = {};
  std::map<std::string, std::string, std::less<>> parameters = {};
  std::function<std::optional<std::string>(std::string_view)> environment = {};
};

// One pass: what a value holds is not looked at again. `guard` is put around each value, where the
// text is a pattern. The error (input) names the placeholder and what to give.
Expected<std::string> expand(const Text& text, const Values& values,
                             const std::function<std::string(std::string_view)>& guard = {});

}  // namespace quietus::adapters
