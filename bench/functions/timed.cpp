// Times the pure functions with Google Benchmark, whose options it takes.
#include <benchmark/benchmark.h>

#include "pure_functions.hpp"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const auto& function : bench::pure_functions()) {
    benchmark::RegisterBenchmark(std::string(function.name).c_str(),
                                 [once = function.once](benchmark::State& state) {
                                   for ([[maybe_unused]] auto step : state) once();
                                 });
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
