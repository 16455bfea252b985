// What went wrong, as a value. Nothing in this library throws, with one exception that is Asio's:
// see "Cancellation" in sandbox.hpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace quietus {

// By what the caller can do about it.
enum class ErrorKind {
  timeout,      // a deadline of ours passed; the work may still have happened
  transport,    // the way to the sandbox failed, or was cut: retry
  sandbox,      // the sandbox or its runtime says no: it is gone, or cannot do this
  input,        // what the caller gave is wrong; a retry will not help
  state,        // not at this moment: the session is closing, or was used already
  unknown,      // no evidence of how it ended: retry the stop
  unconfirmed,  // final evidence that cleanup was not confirmed: a retry will not help
  cancelled,    // the caller asked for the end
};
// "timeout", "transport", ...: for JSON and logs.
std::string_view name(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::unknown;
  std::string message;                      // what was attempted, on what, why it failed; one line
  std::string advice;                       // what to try, starting with a verb; may be empty
  std::shared_ptr<const Error> cause = {};  // the error below this one

  // "message; advice", then the causes: for people.
  [[nodiscard]] std::string text() const;
  // The same error with another one below it.
  [[nodiscard]] Error because(Error below) && {
    cause = std::make_shared<const Error>(std::move(below));
    return std::move(*this);
  }
};

template <class T>
using Expected = tl::expected<T, Error>;

// return fail(ErrorKind::input, "no such sandbox 'x'", "see quietusctl list");
inline tl::unexpected<Error> fail(ErrorKind kind, std::string message, std::string advice = {}) {
  return tl::unexpected(Error{kind, std::move(message), std::move(advice)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected(std::move(error)); }

}  // namespace quietus
