#include "supervisor/identity.hpp"

#include "contract/json.hpp"
#include "kernel/process_table.hpp"

namespace quietus {
namespace {

constexpr std::size_t kBootIdLength = 36;

void write_half(sys::Gate& gate, JsonWriter& json, std::string_view key, int pid) {
  json.key(key).begin_object().field("pid", pid).key("start_ticks");
  const auto row = sys::read_stat(gate, pid);
  row ? json.number(static_cast<std::int64_t>(row->start_ticks)) : json.null();
  json.end_object();
}

}  // namespace

std::string identity_json(sys::Gate& gate, int guardian, int supervisor, const Options& options) {
  JsonWriter json;
  json.begin_object();
  write_half(gate, json, "guardian", guardian);
  write_half(gate, json, "supervisor", supervisor);
  json.key("boot_id");
  const auto boot = sys::read_file(gate, "/proc/sys/kernel/random/boot_id", kBootIdLength);
  boot ? json.text(*boot) : json.null();
  json.key("pid_namespace");
  const auto space = sys::read_link(gate, "/proc/self/ns/pid");  // "pid:[4026531836]"
  space ? json.text(*space) : json.null();
  json.seconds_field("started_monotonic", sys::now(gate).time_since_epoch().count());
  json.key("timeout_seconds");
  options.timeout ? json.seconds(options.timeout->count()) : json.null();
  json.seconds_field("cleanup_timeout_seconds", options.cleanup_timeout.count());
  json.end_object();
  return json.take() + '\n';
}

}  // namespace quietus
