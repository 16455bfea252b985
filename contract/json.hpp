// A JSON text, written front to back. The output is pure ASCII and always valid: bytes that are not
// UTF-8 become U+FFFD, since a process may have any bytes in its name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quietus {

class JsonWriter {
 public:
  // Separators as Python writes them by default: ", " and ": ".
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& text(std::string_view value);
  JsonWriter& number(std::int64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  // Seconds with microseconds, from nanoseconds: 1.250000. Not of -2^63, which no clock gives.
  JsonWriter& seconds(std::int64_t nanoseconds);

  // What most objects consist of.
  JsonWriter& field(std::string_view name, std::string_view value);
  JsonWriter& field(std::string_view name, const char* value);
  JsonWriter& field(std::string_view name, std::int64_t value);
  JsonWriter& field(std::string_view name, int value);
  JsonWriter& field(std::string_view name, bool value);
  JsonWriter& seconds_field(std::string_view name, std::int64_t nanoseconds);

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void separate();
  void append_escaped(std::string_view value);

  std::string out_;
  bool first_ = true;
};

}  // namespace quietus
