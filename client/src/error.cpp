#include "quietus/error.hpp"

namespace quietus {

std::string_view name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::timeout: return "timeout";
    case ErrorKind::transport: return "transport";
    case ErrorKind::sandbox: return "sandbox";
    case ErrorKind::input: return "input";
    case ErrorKind::state: return "state";
    case ErrorKind::unknown: return "unknown";
    case ErrorKind::unconfirmed: return "unconfirmed";
    case ErrorKind::cancelled: return "cancelled";
  }
  return "unknown";
}

std::string Error::text() const {
  std::string text = message;
  if (!advice.empty()) text += "; " + advice;
  for (const Error* below = cause.get(); below != nullptr; below = below->cause.get()) {
    text += ": " + below->message;
    if (!below->advice.empty()) text += "; " + below->advice;
  }
  return text;
}

}  // namespace quietus
