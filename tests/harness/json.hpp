// A parsed JSON document, read by JSON pointer ("/worker/pid"). A path that is missing, or a value
// of another kind, throws: the test fails with a message that names the path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

class Json {
 public:
  static Json parse(std::string_view text);  // throws where it is not one JSON document in UTF-8

  [[nodiscard]] bool has(const std::string& path) const;
  [[nodiscard]] bool is_null(const std::string& path) const;
  [[nodiscard]] bool is_text(const std::string& path) const;
  [[nodiscard]] bool boolean(const std::string& path) const;
  [[nodiscard]] std::string text(const std::string& path) const;
  [[nodiscard]] int64_t integer(const std::string& path) const;
  [[nodiscard]] double number(const std::string& path) const;
  [[nodiscard]] size_t size(const std::string& path) const;  // of an array or object
  [[nodiscard]] std::vector<std::string> keys(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> texts(const std::string& path) const;
  [[nodiscard]] std::vector<int64_t> integers(const std::string& path) const;
  // The place of the first element of the array whose field has this text; -1 for none.
  [[nodiscard]] int find(const std::string& array, const std::string& field,
                         const std::string& value) const;
  [[nodiscard]] std::string dump() const;

  struct Value;
  [[nodiscard]] const Value& value() const { return *value_; }

 private:
  std::shared_ptr<const Value> value_;
};

}  // namespace harness
