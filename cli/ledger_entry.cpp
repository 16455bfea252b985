#include "cli/ledger_entry.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace quietus::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchema = "quietus-ledger";
constexpr int kVersion = 1;
constexpr std::size_t kIdLength = 32;
constexpr std::string_view kDirectoryName = "quietus-";
constexpr std::string_view kOwned = "owned";
constexpr std::string_view kBorrowed = "borrowed";

bool is_absolute(std::string_view path) {
  return path.starts_with('/') && path.find('\0') == path.npos;
}

// Reads the fields of an object one by one; the first that is wrong is the error.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  std::string text(const char* key, bool may_be_empty = false) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) return refuse(key, "must be a text"), std::string();
    auto text = value->get<std::string>();
    if (text.empty() && !may_be_empty) refuse(key, "must not be empty");
    if (text.find('\0') != text.npos) refuse(key, "must not hold a zero byte");
    return text;
  }

  template <class Number>
  Number number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return 0;
    // A number beyond 64 bits is read as a double, and refused here.
    if (!value->is_number_integer()) return refuse(key, "must be a whole number"), Number{0};
    const auto number = value->get<std::int64_t>();
    if (number < 0 || !std::in_range<Number>(number)) {
      refuse(key, "is out of range");
      return 0;
    }
    return static_cast<Number>(number);
  }

  std::map<std::string, std::vector<std::string>, std::less<>> words(const char* key) {
    std::map<std::string, std::vector<std::string>, std::less<>> result;
    const Json* value = find(key);
    if (value == nullptr) return result;
    if (!value->is_object()) return refuse(key, "must be an object"), result;
    for (const auto& [name, list] : value->items()) {
      if (!list.is_array() || list.empty()) return refuse(key, "must hold lists of words"), result;
      for (const Json& word : list) {
        if (!word.is_string()) return refuse(key, "must hold lists of words"), result;
        result[name].push_back(word.get<std::string>());
      }
    }
    return result;
  }

  void refuse(const char* key, const char* rule) {
    if (!error_) error_ = std::string(key) + ' ' + rule;
  }
  const std::optional<std::string>& error() const { return error_; }

 private:
  const Json* find(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end()) return refuse(key, "is missing"), nullptr;
    return &*found;
  }

  const Json& object_;
  std::optional<std::string> error_;
};

}  // namespace

std::string_view id_of_directory(std::string_view directory) {
  const std::size_t slash = directory.rfind('/');
  if (slash == directory.npos) return {};
  std::string_view name = directory.substr(slash + 1);
  if (!name.starts_with(kDirectoryName)) return {};
  name.remove_prefix(kDirectoryName.size());
  return is_session_id(name) ? name : std::string_view();
}

bool is_session_id(std::string_view text) {
  return text.size() == kIdLength && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string ledger_json(const LedgerEntry& entry) {
  const Json json = {
      {"schema", kSchema},
      {"schema_version", kVersion},
      {"id", entry.id},
      {"sandbox", entry.sandbox},
      {"reach", entry.reach},
      {"ownership", entry.owned ? kOwned : kBorrowed},
      {"directory", entry.directory},
      {"command", entry.command},
      {"into", entry.into},
      {"programs", entry.programs},
      {"controller",
       {{"pid", entry.pid}, {"start_ticks", entry.start_ticks}, {"boot_id", entry.boot_id}}},
      {"created", entry.created},
  };
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Expected<LedgerEntry> parse_ledger_entry(std::string_view text) {
  const auto wrong = [](const std::string& why) { return fail(ErrorKind::input, why); };
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return wrong("it is no JSON object");
  if (json.value("schema", Json()) != kSchema) return wrong("schema must be quietus-ledger");
  if (json.value("schema_version", Json()) != kVersion) {
    return wrong("schema_version must be 1: another version of quietusctl wrote it");
  }
  Reader from(json);
  LedgerEntry entry;
  entry.id = from.text("id");
  entry.sandbox = from.text("sandbox");
  entry.reach = from.text("reach", true);
  const std::string ownership = from.text("ownership");
  entry.directory = from.text("directory");
  entry.command = from.text("command", true);
  entry.into = from.text("into", true);
  entry.programs = from.words("programs");
  entry.created = from.number<std::int64_t>("created");
  const Json controller = json.value("controller", Json());
  if (!controller.is_object()) return wrong("controller must be an object");
  Reader by(controller);
  entry.pid = by.number<int>("pid");
  entry.start_ticks = by.number<std::uint64_t>("start_ticks");
  entry.boot_id = by.text("boot_id", true);
  if (by.error()) return wrong("controller: " + *by.error());

  if (ownership != kOwned && ownership != kBorrowed) {
    from.refuse("ownership", "must be owned or borrowed");
  }
  entry.owned = ownership == kOwned;
  if (!is_session_id(entry.id)) from.refuse("id", "must be 32 hexadecimal digits");
  // What the garbage collection removes: a directory of ours, this session's, and nothing else.
  if (!is_absolute(entry.directory) || id_of_directory(entry.directory) != entry.id ||
      entry.directory.find("/../") != std::string::npos) {
    from.refuse("directory", "must be the absolute path of this session's directory");
  }
  if (!entry.into.empty() && !is_absolute(entry.into)) {
    from.refuse("into", "must be an absolute path");
  }
  if (from.error()) return wrong(*from.error());
  return entry;
}

}  // namespace quietus::cli
