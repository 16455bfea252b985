# How our code is compiled, said once: quietus_warnings for everything that we write,
# quietus_inside_options for the in-sandbox half and whatever is linked with it.
option(QUIETUS_WERROR "Treat compiler warnings as errors (tools/test.sh does)" OFF)
option(QUIETUS_STATIC "Link the binary statically; off where a sanitizer forbids it" ON)

add_library(quietus_warnings INTERFACE)
target_compile_options(quietus_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2 -Wnon-virtual-dtor
  -Woverloaded-virtual -Wmissing-declarations
  # Designated initialisers name what they set; the members left out have their defaults.
  -Wno-missing-field-initializers
  # g++ 12 suspects every std::optional<std::string> (GCC bug 80635); the sanitizers see real cases.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<BOOL:${QUIETUS_WERROR}>:-Werror>)

add_library(quietus_inside_options INTERFACE)
target_compile_features(quietus_inside_options INTERFACE cxx_std_20)
target_compile_options(quietus_inside_options INTERFACE
  # Everybody who links the half is compiled without RTTI too: a test that derives from Gate would
  # otherwise ask for type information that the library does not have.
  -fno-rtti
  # What ends up in the binary depends neither on where the sources lie nor on where they are built.
  -ffile-prefix-map=${QUIETUS_ROOT}=.
  -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
