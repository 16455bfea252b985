#include "quietus/receipt_check.hpp"

#include "contract/receipt_parse.hpp"

namespace quietus {

Expected<CheckedReceipt> check_receipt(std::string_view json, std::string_view harness) {
  const auto unconfirmed = [&](std::string_view detail) {
    return fail(ErrorKind::unconfirmed,
                std::string(harness) + " sandbox cleanup was not confirmed: " + std::string(detail),
                "treat the sandbox as still in use; see report.json in the session directory");
  };
  const auto parsed = parse_receipt(json);
  if (!parsed) return unconfirmed(parsed.error());
  if (!parsed->receipt.cleanup_confirmed) {
    return unconfirmed(parsed->receipt.error.value_or("the receipt gives no reason"));
  }
  return CheckedReceipt{parsed->receipt, parsed->strict};
}

}  // namespace quietus
