# A static binary on Debian's musl-dev, with the header-only part of g++'s own libstdc++.
#
# Nothing that was built against glibc is linked but libgcc.a: libstdc++.a would want symbols that
# musl lacks. What the headers still ask for is in slim.cpp. Out of reach in this build, therefore:
# exceptions, iostream, locale, regex, threads, std::map and std::unordered_map, from_chars for
# floating point. -static-pie is not an option: with these start files it makes a dynamic program.
set(QUIETUS_MUSL_ARCH x86_64 CACHE STRING "x86_64 or aarch64")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QUIETUS_MUSL_ARCH)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${QUIETUS_MUSL_ARCH})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_CXX_COMPILER ${QUIETUS_MUSL_ARCH}-linux-gnu-g++)
set(_musl_include /usr/include/${QUIETUS_MUSL_ARCH}-linux-musl)
set(_musl_lib /usr/lib/${QUIETUS_MUSL_ARCH}-linux-musl)
if(NOT EXISTS ${_musl_lib}/libc.a)
  message(FATAL_ERROR "${_musl_lib}/libc.a not found: install musl-dev for ${QUIETUS_MUSL_ARCH} "
    "(bash tools/setup.sh musl, or cross)")
endif()

function(_ask_compiler result)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${ARGN} OUTPUT_VARIABLE answer
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${result} ${answer} PARENT_SCOPE)
endfunction()
_ask_compiler(_gcc_version -dumpversion)
_ask_compiler(_gcc_include -print-file-name=include)
_ask_compiler(_libgcc -print-libgcc-file-name)
cmake_path(GET _libgcc PARENT_PATH _gcc_lib)

# A cross compiler keeps its C++ headers in a place of its own.
if(CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL QUIETUS_MUSL_ARCH)
  set(_cxx_include /usr/include/c++/${_gcc_version})
  set(_cxx_target_include /usr/include/${QUIETUS_MUSL_ARCH}-linux-gnu/c++/${_gcc_version})
else()
  set(_cxx_include /usr/${QUIETUS_MUSL_ARCH}-linux-gnu/include/c++/${_gcc_version})
  set(_cxx_target_include ${_cxx_include}/${QUIETUS_MUSL_ARCH}-linux-gnu)
endif()

# The three definitions: os_defines.h and c++locale.h take glibc for granted, and templates that
# libstdc++.a would hold have to be instantiated here.
set(CMAKE_CXX_FLAGS_INIT "-nostdinc -nostdinc++ \
-isystem ${CMAKE_CURRENT_LIST_DIR}/include -isystem ${_cxx_include} -isystem ${_cxx_target_include} \
-isystem ${_musl_include} -isystem ${_gcc_include} \
'-D__GLIBC_PREREQ(a,b)=0' -D__locale_t=locale_t -D_GLIBCXX_EXTERN_TEMPLATE=0")
if(QUIETUS_MUSL_ARCH STREQUAL "aarch64")
  # libgcc's helper for atomics asks glibc which instructions the processor has.
  string(APPEND CMAKE_CXX_FLAGS_INIT " -mno-outline-atomics")
endif()

set(CMAKE_CXX_LINK_EXECUTABLE "<CMAKE_CXX_COMPILER> <FLAGS> <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> \
-nostdlib -static ${_musl_lib}/crt1.o ${_musl_lib}/crti.o ${_gcc_lib}/crtbeginT.o \
<OBJECTS> <LINK_LIBRARIES> -L${_musl_lib} -Wl,--start-group -lc ${_libgcc} -Wl,--end-group \
${_gcc_lib}/crtend.o ${_musl_lib}/crtn.o -o <TARGET>")

# A binary that is uploaded ten thousand times a day: every page counts. LTO sees that most functions
# have one caller; no page is spent on keeping code and data apart.
set(CMAKE_CXX_FLAGS_MINSIZEREL_INIT "-Oz -DNDEBUG -flto=auto -fno-fat-lto-objects -fno-inline-functions-called-once")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-z,noseparate-code -Wl,-z,norelro \
-Wl,-z,common-page-size=64 -Wl,--build-id=none")
