#include "contract/receipt.hpp"

#include "contract/json.hpp"

namespace quietus {

Receipt receipt_of(const Outcome& outcome) {
  Receipt receipt;
  receipt.cleanup_confirmed = outcome.proof.has_value();
  if (outcome.ending.kind == Ending::Kind::exited) receipt.return_code = outcome.ending.value;
  if (outcome.ending.kind == Ending::Kind::signaled) receipt.return_code = -outcome.ending.value;
  receipt.error = outcome.error;
  receipt.timed_out = outcome.timed_out();
  return receipt;
}

std::string receipt_json(const Receipt& receipt) {
  JsonWriter json;
  json.begin_object().field("cleanup_confirmed", receipt.cleanup_confirmed).key("return_code");
  receipt.return_code ? json.number(*receipt.return_code) : json.null();
  json.key("error");
  receipt.error ? json.text(*receipt.error) : json.null();
  json.field("timed_out", receipt.timed_out).end_object();
  return json.take();
}

}  // namespace quietus
