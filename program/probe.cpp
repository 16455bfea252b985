#include "program/probe.hpp"

#include <csignal>

#include "contract/exit_code.hpp"
#include "contract/json.hpp"
#include "quietus_version.hpp"

namespace quietus {
namespace {

constexpr std::size_t kValueColumn = 24;
constexpr std::size_t kPartWidth = 24;  // of each part of the platform's name

// "mkdir: Permission denied"
void write_reason(Page& page, const Trial& trial) {
  if (trial.step != nullptr) page << trial.step;
  if (trial.error != 0) page << ": " << sys::describe(trial.error);
}

constexpr struct {
  const char* name;
  const char* works;
  const char* fails;
} kUses[kDirectoryUses] = {
    {"write", "", "cannot be written"},
    {"execute", "runs programs", "runs no programs"},
    {"lock", ", locks", ", no locks"},
    {"inotify", ", inotify", ", no inotify"},
};

void write_directory(Page& page, const Directory& directory) {
  page << "  ";
  page.shown(directory.path, Page::kWidth - 2) << "\n    ";
  for (std::size_t use = 0; use < kDirectoryUses; ++use) {
    const Trial& trial = directory.trial.uses[use];
    page << (trial.works ? kUses[use].works : kUses[use].fails);
    if (!trial.works) write_reason(page << ": ", trial);
    if (use == kWrite && !trial.works) break;
  }
  if (directory.trial.free_bytes) {
    (page << ", ").size(*directory.trial.free_bytes) << " free";
  }
  page.wrap();
}

void text_field(JsonWriter& json, const char* key, const char* value) {
  json.key(key);
  value == nullptr || *value == 0 ? json.null() : json.text(value);
}

void number_field(JsonWriter& json, const char* key, std::optional<std::int64_t> value) {
  json.key(key);
  value ? json.number(*value) : json.null();
}

void trial_field(JsonWriter& json, const char* key, const Trial& trial) {
  json.key(key).begin_object().field("works", trial.works);
  text_field(json, "needs", trial.works ? trial.needs : nullptr);
  text_field(json, "note", trial.works ? trial.note : nullptr);
  text_field(json, "failed", trial.works ? nullptr : trial.step);
  number_field(json, "errno",
               trial.error == 0 ? std::nullopt : std::optional<std::int64_t>(trial.error));
  json.end_object();
}

}  // namespace

Place examine(sys::Gate& gate, std::string_view directory) {
  (void)sys::block_signals(gate, SignalSet::all());
  // Ignored, the kernel would collect our children itself, and their numbers would be free.
  (void)sys::reset_signal(gate, SIGCHLD);
  Place place;
  if (const auto platform = sys::platform(gate)) place.platform = *platform;
  place.c_libraries = find_c_libraries(gate);
  if (const auto size = sys::page_size(gate)) place.page_size = *size;
  if (const auto uid = sys::effective_uid(gate)) place.uid = *uid;
  place.means = try_means(gate);

  auto& [first, second] = place.directories;
  first.path = "/tmp";
  second.path = directory;
  if (directory.empty()) {
    if (auto here = sys::working_directory(gate)) second.path = std::move(*here);
  }
  if (second.path == first.path) second.path.clear();
  Trial& inotify = place.means[kInotify];
  inotify.failed("there is no directory to try it in");
  for (auto& [path, trial] : place.directories) {
    if (path.empty()) continue;
    trial = try_directory(gate, path.c_str());
    const Trial& notify = trial.uses[kNotify];
    const bool tried = trial.uses[kWrite].works || notify.works;
    if (tried && !inotify.works) inotify = notify;
  }
  return place;
}

void write_platform(Page& page, const Place& place) {
  const char* between = "";
  for (const char* part :
       {place.platform.sysname, place.platform.release, place.platform.machine}) {
    page << between;
    page.shown(*part == 0 ? "unknown" : part, kPartWidth);
    between = " ";
  }
}

void write_c_library(Page& page, const CLibrary& library) {
  page << (library.name == nullptr ? "no C library" : library.name);
  if (library.version[0] != 0) page << " " << library.version;
}

void write_trials(Page& page, const Place& place, Purpose purpose) {
  for (std::size_t at = 0; at < kMeansCount; ++at) {
    if (means_trial(at).purpose != purpose) continue;
    const Trial& trial = place.means[at];
    page << "  " << means_trial(at).label;
    page.column(kValueColumn) << (trial.works ? "yes" : "no   ");
    if (!trial.works) write_reason(page, trial);
    if (trial.works && trial.needs != nullptr) page << "  with " << trial.needs;
    if (trial.works && trial.note != nullptr) page << "  " << trial.note;
    page << "\n";
  }
}

std::string place_text(const Place& place) {
  Page page;
  page << "quietus " << kVersion << ": what works in this place\n\nkernel";
  write_platform(page.column(kValueColumn), place);
  page << "\npage size";
  page.column(kValueColumn);
  place.page_size ? page << *place.page_size : page << "unknown";
  for (const CLibrary& library : place.c_libraries) {
    if (library.name == nullptr && &library != &place.c_libraries.front()) continue;
    page << "\nC library";
    write_c_library(page.column(kValueColumn), library);
    if (library.name != nullptr) page << ", " << library.loader;
  }
  page << "\nuser";
  page.column(kValueColumn);
  place.uid ? page << *place.uid : page << "unknown";
  page << "\n\ndirectories\n";
  for (const Directory& directory : place.directories) {
    if (!directory.path.empty()) write_directory(page, directory);
  }
  for (const Purpose purpose : {Purpose::killing, Purpose::waiting, Purpose::hiding}) {
    page << "\n" << name(purpose) << "\n";
    write_trials(page, place, purpose);
  }
  return page.take();
}

std::string place_json(const Place& place) {
  JsonWriter json;
  json.begin_object();
  text_field(json, "schema", "quietus-probe");
  number_field(json, "schema_version", kProbeVersion);
  text_field(json, "quietus_version", kVersion.data());
  text_field(json, "kernel", place.platform.sysname);
  text_field(json, "kernel_release", place.platform.release);
  text_field(json, "machine", place.platform.machine);
  number_field(json, "page_size", place.page_size);
  number_field(json, "uid", place.uid);
  const CLibrary& first = place.c_libraries.front();
  text_field(json, "c_library", first.name == nullptr ? "none" : first.name);
  text_field(json, "c_library_version", first.version);
  json.key("c_libraries").begin_array();
  for (const CLibrary& library : place.c_libraries) {
    if (library.name == nullptr) continue;
    json.begin_object();
    text_field(json, "name", library.name);
    text_field(json, "version", library.version);
    text_field(json, "loader", library.loader);
    json.end_object();
  }
  json.end_array().key("directories").begin_array();
  for (const auto& [path, trial] : place.directories) {
    if (path.empty()) continue;
    json.begin_object();
    text_field(json, "path", path.c_str());
    number_field(json, "free_bytes", trial.free_bytes);
    for (std::size_t use = 0; use < kDirectoryUses; ++use) {
      trial_field(json, kUses[use].name, trial.uses[use]);
    }
    json.end_object();
  }
  json.end_array();
  for (const Purpose purpose : {Purpose::killing, Purpose::waiting, Purpose::hiding}) {
    json.key(name(purpose)).begin_object();
    for (std::size_t at = 0; at < kMeansCount; ++at) {
      if (means_trial(at).purpose != purpose) continue;
      trial_field(json, means_trial(at).name, place.means[at]);
    }
    json.end_object();
  }
  json.end_object();
  return json.take() + '\n';
}

int probe(sys::Gate& gate, bool json, std::string_view directory) {
  const Place place = examine(gate, directory);
  const auto printed = sys::write_all(gate, 1, json ? place_json(place) : place_text(place));
  return printed ? kExitSuccess : kExitFailed;
}

}  // namespace quietus
