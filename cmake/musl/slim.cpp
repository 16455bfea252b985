// What the headers of libstdc++ expect of libstdc++.a, which the musl build does not link.
//
// Each of these ends the process. None of them writes a word: once a worker runs, descriptor 2 may
// be somebody else's file. The other half of the pair sees the SIGABRT and reports it.
#include <bits/functexcept.h>
#include <cxxabi.h>

#include <cstdlib>
#include <new>

void* operator new(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

// std::stable_sort asks for a buffer this way and can do without one.
const std::nothrow_t std::nothrow{};
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}

namespace std {

void __throw_length_error(const char*) { abort(); }
void __throw_logic_error(const char*) { abort(); }
void __throw_invalid_argument(const char*) { abort(); }
void __throw_out_of_range(const char*) { abort(); }
void __throw_out_of_range_fmt(const char*, ...) { abort(); }
void __throw_bad_alloc() { abort(); }
void __throw_bad_array_new_length() { abort(); }
void __throw_bad_function_call() { abort(); }

}  // namespace std

extern "C" void abi::__cxa_pure_virtual() { std::abort(); }
