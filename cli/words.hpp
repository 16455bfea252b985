// Lists of words inside coroutines. g++ 12 destroys the elements of an initializer list there more
// than once; a function call is safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace quietus::cli {

template <class... Parts>
std::vector<std::string> words(Parts&&... parts) {
  std::vector<std::string> list;
  list.reserve(sizeof...(parts));
  (list.emplace_back(std::forward<Parts>(parts)), ...);
  return list;
}

}  // namespace quietus::cli
