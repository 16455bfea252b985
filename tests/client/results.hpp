// What tests say of an Expected and its error.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "quietus/error.hpp"

namespace client_tests {

using namespace quietus;

// Whether the error has this kind, and its text holds the words.
inline testing::AssertionResult is_error(const Error& error, ErrorKind kind,
                                         std::string_view words = {}) {
  if (error.kind == kind && error.text().find(words) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << name(error.kind) << ": " << error.text() << "\nbut wanted "
                                     << name(kind) << " with '" << words << "'";
}
template <class T>
testing::AssertionResult failed(const Expected<T>& result, ErrorKind kind,
                                std::string_view words = {}) {
  if (result) return testing::AssertionFailure() << "it succeeded";
  return is_error(result.error(), kind, words);
}
template <class T>
testing::AssertionResult succeeded(const Expected<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << name(result.error().kind) << ": " << result.error().text();
}

}  // namespace client_tests
