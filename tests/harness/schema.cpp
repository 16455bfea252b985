#include "harness/schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "harness/json_value.hpp"
#include "harness/running.hpp"
#include "harness/tools.hpp"

namespace harness {

namespace {

using nlohmann::json;

// The part of JSON Schema that our own schema uses; a keyword that is not known here is a fault of
// the check itself, so that none is passed over in silence.
class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  void check(const json& value, const json& schema, const std::string& where) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) fault(where, "is not allowed");
      return;
    }
    for (const auto& [keyword, rule] : schema.items()) apply(keyword, rule, schema, value, where);
  }

  std::vector<std::string> faults;

 private:
  void fault(const std::string& where, const std::string& what) {
    faults.push_back((where.empty() ? "/" : where) + " " + what);
  }

  static bool is_a(const json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "integer") return value.is_number_integer();
    return type == "number" && value.is_number();
  }

  void apply(const std::string& keyword, const json& rule, const json& schema, const json& value,
             const std::string& where) {
    static const std::vector<std::string> kSilent = {"$schema",     "$id",      "$defs",
                                                     "title",       "$comment", "default",
                                                     "description", "examples", "format"};
    if (std::find(kSilent.begin(), kSilent.end(), keyword) != kSilent.end()) return;
    if (keyword == "type") {
      const json types = rule.is_array() ? rule : json::array({rule});
      bool fits = false;
      for (const auto& type : types) fits = fits || is_a(value, type.get<std::string>());
      if (!fits) fault(where, "is not of type " + rule.dump());
    } else if (keyword == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) {
        fault(where, value.dump() + " is none of " + rule.dump());
      }
    } else if (keyword == "const") {
      if (value != rule) fault(where, value.dump() + " is not " + rule.dump());
    } else if (keyword == "required") {
      for (const auto& key : rule) {
        if (value.is_object() && !value.contains(key.get<std::string>())) {
          fault(where, "lacks " + key.dump());
        }
      }
    } else if (keyword == "properties") {
      for (const auto& [key, sub] : rule.items()) {
        if (value.is_object() && value.contains(key)) check(value[key], sub, where + "/" + key);
      }
    } else if (keyword == "additionalProperties") {
      if (!value.is_object()) return;
      for (const auto& [key, member] : value.items()) {
        if (!schema.contains("properties") || !schema["properties"].contains(key)) {
          check(member, rule, where + "/" + key);
        }
      }
    } else if (keyword == "items") {
      if (!value.is_array()) return;
      for (size_t i = 0; i < value.size(); ++i) {
        check(value[i], rule, where + "/" + std::to_string(i));
      }
    } else if (keyword == "$ref") {
      check(value, root_.at(json::json_pointer(rule.get<std::string>().substr(1))), where);
    } else if (keyword == "anyOf" || keyword == "oneOf") {
      bool fits = false;
      for (const auto& sub : rule) {
        Checker one(root_);
        one.check(value, sub, where);
        fits = fits || one.faults.empty();
      }
      if (!fits) fault(where, "fits no branch of " + keyword);
    } else if (keyword == "minimum") {
      if (value.is_number() && value.get<double>() < rule.get<double>()) fault(where, "too small");
    } else if (keyword == "maximum") {
      if (value.is_number() && value.get<double>() > rule.get<double>()) fault(where, "too large");
    } else if (keyword == "minLength") {
      if (value.is_string() && value.get<std::string>().size() < rule.get<size_t>()) {
        fault(where, "too short");
      }
    } else if (keyword == "maxLength") {
      if (value.is_string() && value.get<std::string>().size() > rule.get<size_t>()) {
        fault(where, "too long");
      }
    } else if (keyword == "pattern") {
      if (value.is_string() &&
          !std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()))) {
        fault(where, value.dump() + " does not match " + rule.dump());
      }
    } else {
      fault(where, "the check does not know the schema's keyword " + keyword);
    }
  }

  const json& root_;
};

void check_schema(const json& report) {
  const std::string text = read_file(schema_path());
  if (text.empty()) {
    ADD_FAILURE() << "the report's schema is missing: " << schema_path();
    return;
  }
  const json schema = json::parse(text);
  Checker checker(schema);
  checker.check(report, schema, "");
  for (const std::string& fault : checker.faults) ADD_FAILURE() << "report: " << fault;
}

}  // namespace

std::optional<Json> checked_report(std::string_view text, const Ended& ended) {
  const json report = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object()) {
    ADD_FAILURE() << "the report is not a JSON object: " << text;
    return {};
  }
  check_schema(report);
  if (ended.receipt) {
    // One run, one story.
    EXPECT_EQ(report.value("cleanup_confirmed", json()), json(ended.receipt->cleanup_confirmed));
    EXPECT_EQ(report.value("timed_out", json()), json(ended.receipt->timed_out));
    EXPECT_EQ(report.value("error", json()),
              ended.receipt->error ? json(*ended.receipt->error) : json());
    EXPECT_EQ(report.value("return_code", json()),
              ended.receipt->return_code ? json(*ended.receipt->return_code) : json());
  }
  return Json::parse(text);
}

}  // namespace harness
