#include "harness/json.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/json_value.hpp"

namespace harness {

namespace {

const nlohmann::json& at(const Json& json, const std::string& path) {
  try {
    return json.value().json.at(nlohmann::json::json_pointer(path));
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error("no " + path + " in " + json.dump());
  }
}

template <class T>
T get(const Json& json, const std::string& path, bool right_kind) {
  if (!right_kind) throw std::runtime_error(path + " has another kind in " + json.dump());
  return at(json, path).get<T>();
}

}  // namespace

Json Json::parse(std::string_view text) {
  Json json;
  json.value_ = std::make_shared<const Value>(Value{nlohmann::json::parse(text)});
  return json;
}

bool Json::has(const std::string& path) const {
  return value().json.contains(nlohmann::json::json_pointer(path));
}
bool Json::is_null(const std::string& path) const { return at(*this, path).is_null(); }
bool Json::is_text(const std::string& path) const { return at(*this, path).is_string(); }
bool Json::boolean(const std::string& path) const {
  return get<bool>(*this, path, at(*this, path).is_boolean());
}
std::string Json::text(const std::string& path) const {
  return get<std::string>(*this, path, is_text(path));
}
int64_t Json::integer(const std::string& path) const {
  return get<int64_t>(*this, path, at(*this, path).is_number_integer());
}
double Json::number(const std::string& path) const {
  return get<double>(*this, path, at(*this, path).is_number());
}
size_t Json::size(const std::string& path) const { return at(*this, path).size(); }

std::vector<std::string> Json::keys(const std::string& path) const {
  std::vector<std::string> keys;
  for (const auto& item : at(*this, path).items()) keys.push_back(item.key());
  return keys;
}

std::vector<std::string> Json::texts(const std::string& path) const {
  return get<std::vector<std::string>>(*this, path, at(*this, path).is_array());
}
std::vector<int64_t> Json::integers(const std::string& path) const {
  return get<std::vector<int64_t>>(*this, path, at(*this, path).is_array());
}

int Json::find(const std::string& array, const std::string& field, const std::string& value) const {
  for (size_t i = 0; i < size(array); ++i) {
    const std::string path = array + "/" + std::to_string(i) + "/" + field;
    if (is_text(path) && text(path) == value) return int(i);
  }
  return -1;
}

std::string Json::dump() const { return value().json.dump(1); }

}  // namespace harness
