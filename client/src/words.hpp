// Lists of words inside coroutines, where g++ 12 fails on initializer lists ("array used as
// initializer"); a function call is safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace quietus {

template <class... Parts>
std::vector<std::string> words(Parts&&... parts) {
  std::vector<std::string> list;
  list.reserve(sizeof...(parts));
  (list.emplace_back(std::forward<Parts>(parts)), ...);
  return list;
}

}  // namespace quietus
