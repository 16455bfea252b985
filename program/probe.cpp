#include "program/probe.hpp"

#include <csignal>

#include "contract/exit_code.hpp"
#include "contract/json.hpp"
#include "program/bounded.hpp"
#include "quietus_version.hpp"

namespace quietus {
namespace {

constexpr std::size_t kValueColumn = 24;
constexpr std::size_t kReasonColumn = kValueColumn + 5;
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
  if (*directory.path == 0) return;
  page << "  ";
  page.shown(directory.path, Page::kWidth - 2) << "\n    ";
  for (std::size_t use = 0; use < kDirectoryUses; ++use) {
    const Trial& trial = directory.uses[use];
    page << (trial.works ? kUses[use].works : kUses[use].fails);
    if (!trial.works) write_reason(page << ": ", trial);
    if (use == kWrite && !trial.works) break;
  }
  if (directory.free_bytes >= 0) {
    (page << ", ").size(static_cast<std::uint64_t>(directory.free_bytes)) << " free";
  }
  page.wrap(4);
}

void text_field(JsonWriter& json, const char* key, const char* value) {
  json.key(key);
  value == nullptr || *value == 0 ? json.null() : json.text(value);
}

void number_field(JsonWriter& json, const char* key, std::int64_t value, bool known) {
  json.key(key);
  known ? json.number(value) : json.null();
}

void trial_field(JsonWriter& json, const char* key, const Trial& trial) {
  json.key(key).begin_object().field("works", trial.works);
  text_field(json, "needs", trial.works ? trial.needs : nullptr);
  text_field(json, "note", trial.works ? trial.note : nullptr);
  text_field(json, "failed", trial.works ? nullptr : trial.step);
  number_field(json, "errno", trial.error, trial.error != 0);
  json.end_object();
}

}  // namespace

sys::Result<Place*> examine(sys::Gate& gate, std::string_view directory) {
  (void)sys::block_signals(gate, SignalSet::all());
  // Ignored, the kernel would collect our children itself, and their numbers would be free.
  (void)sys::reset_signal(gate, SIGCHLD);
  const auto memory = make_shared_object<Place>(gate);
  if (!memory) {
    const std::string why = sys::errno_text(memory.error().code, memory.error().call);
    (void)sys::write_all(gate, 2, "quietus: " + why + '\n');
    return memory;
  }
  Place& place = **memory;
  (void)sys::platform(gate, place.platform);
  find_c_libraries(gate, place.c_libraries);
  place.page_size = sys::page_size(gate).value_or(-1);
  if (const auto uid = sys::effective_uid(gate)) place.uid = *uid;
  try_means(gate, place.means);

  auto& [first, second] = place.directories;
  constexpr std::string_view kFirst = "/tmp";
  kFirst.copy(first.path, sizeof first.path - 1);
  const auto here = sys::working_directory(gate);
  if (directory.empty() && here) directory = *here;
  if (directory != kFirst) directory.copy(second.path, sizeof second.path - 1);
  Trial& inotify = place.means[kInotify];
  inotify.failed("no directory to try it in");
  for (Directory& each : place.directories) {
    if (*each.path == 0) continue;
    try_directory(gate, each);
    const Trial& notify = each.uses[kNotify];
    if ((each.uses[kWrite].works || notify.works) && !inotify.works) inotify = notify;
  }
  return memory;
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
    page.wrap(kReasonColumn);
  }
}

void write_place(Page& page, const Place& place) {
  page << "quietus " << kVersion << ": what works in this place\n\nkernel";
  write_platform(page.column(kValueColumn), place);
  page << "\npage size";
  page.column(kValueColumn);
  place.page_size > 0 ? page << place.page_size : page << "unknown";
  for (const CLibrary& library : place.c_libraries) {
    if (library.name == nullptr && &library != &place.c_libraries.front()) continue;
    page << "\nC library";
    write_c_library(page.column(kValueColumn), library);
    if (library.name != nullptr) page << ", " << library.loader;
  }
  page << "\nuser";
  page.column(kValueColumn);
  place.uid >= 0 ? page << place.uid : page << "unknown";
  page << "\n\ndirectories\n";
  for (const Directory& directory : place.directories) write_directory(page, directory);
  for (const Purpose purpose : {Purpose::killing, Purpose::waiting, Purpose::hiding}) {
    page << "\n" << name(purpose) << "\n";
    write_trials(page, place, purpose);
  }
}

std::string place_json(const Place& place) {
  JsonWriter json;
  json.begin_object();
  text_field(json, "schema", "quietus-probe");
  number_field(json, "schema_version", kProbeVersion, true);
  text_field(json, "quietus_version", kVersion.data());
  text_field(json, "kernel", place.platform.sysname);
  text_field(json, "kernel_release", place.platform.release);
  text_field(json, "machine", place.platform.machine);
  number_field(json, "page_size", place.page_size, place.page_size > 0);
  number_field(json, "uid", place.uid, place.uid >= 0);
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
  for (const Directory& directory : place.directories) {
    if (*directory.path == 0) continue;
    json.begin_object();
    text_field(json, "path", directory.path);
    number_field(json, "free_bytes", directory.free_bytes, directory.free_bytes >= 0);
    for (std::size_t use = 0; use < kDirectoryUses; ++use) {
      trial_field(json, kUses[use].name, directory.uses[use]);
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
  const auto place = examine(gate, directory);
  if (!place) return kExitFailed;
  Page page;
  json ? void(page << place_json(**place)) : write_place(page, **place);
  const auto printed = sys::write_all(gate, 1, page.text());
  return printed ? kExitSuccess : kExitFailed;
}

}  // namespace quietus
