// The pure functions whose cost is watched: those that run once for each process or each receipt.
// One table, read by the program that times them and by the one whose instructions are counted.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace bench {

struct PureFunction {
  std::string_view name;
  std::function<void()> once;  // on input that was made beforehand
};

std::vector<PureFunction> pure_functions();

}  // namespace bench
