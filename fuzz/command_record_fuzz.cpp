// --command-fd: what is read is exactly the record, and no byte beyond it.
//
// Module: session/command_record.cpp
#include <string>

#include "paper_kernel.hpp"
#include "property.hpp"
#include "session/command_record.hpp"

using fuzz::require;

namespace {

void append_number(std::string& out, std::size_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
}

std::string encoded(const quietus::CommandRecord& record) {
  std::string bytes;
  for (const auto* strings : {&record.argv, &record.environment}) {
    append_number(bytes, strings->size());
    for (const std::string& text : *strings) {
      append_number(bytes, text.size());
      bytes += text;
    }
  }
  return bytes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(fuzz::text_of(data, size));
  fuzz::PaperKernel kernel;
  kernel.most_at_once = 1 + input.byte() % 16;
  const std::string_view bytes = input.rest();
  const int fd = kernel.give(bytes);
  const auto record = quietus::read_command_record(kernel, fd);
  require(kernel.changes.empty() && kernel.sent.empty(), "it only reads");
  if (!record) {
    require(!record.error().empty(), "a refusal says why");
    return 0;
  }
  require(!record->argv.empty(), "there is a command");
  for (const auto* strings : {&record->argv, &record->environment}) {
    for (const std::string& text : *strings) {
      require(text.find('\0') == text.npos, "a string of execve has no NUL");
    }
  }
  require(kernel.taken(fd) == encoded(*record).size(), "nothing beyond the record is read");
  require(bytes.starts_with(encoded(*record)), "and the record is what stands there");
  return 0;
}
