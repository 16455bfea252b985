#include "session/judge.hpp"

#include "contract/exit_code.hpp"
#include "contract/receipt_parse.hpp"
#include "session/speak.hpp"

namespace quietus {

int judge(sys::Gate& gate, const std::string& text) {
  print_line(gate, text);
  const auto parsed = parse_receipt(text);
  if (!parsed) return complain(gate, kExitNotConfirmed, parsed.error());
  return parsed->receipt.cleanup_confirmed ? kExitSuccess : kExitNotConfirmed;
}

}  // namespace quietus
