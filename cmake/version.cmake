# The one place that states the version. Both projects read it: the whole (CMakeLists.txt) and the
# in-sandbox half, which must also build where the top file does not exist.
set(QUIETUS_VERSION 0.1.0)

set(QUIETUS_COMMIT "" CACHE STRING "Commit to report; empty: ask git, else \"unknown\"")

# Writes quietus_version.hpp into <folder>. The sources in <root> must be the very top of a git
# checkout: a tarball unpacked inside somebody else's repository would report their commit.
function(quietus_write_version root folder)
  set(commit "${QUIETUS_COMMIT}")
  if(NOT commit)
    set(commit unknown)
    find_program(QUIETUS_GIT git)
    mark_as_advanced(QUIETUS_GIT)
    if(QUIETUS_GIT)
      execute_process(
        COMMAND ${QUIETUS_GIT} rev-parse --show-toplevel --git-path logs/HEAD --short=12 HEAD
        WORKING_DIRECTORY ${root}
        OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
        RESULT_VARIABLE failed)
      string(REPLACE "\n" ";" answer "${answer}")
      list(LENGTH answer lines)
      if(failed EQUAL 0 AND lines EQUAL 3)
        list(GET answer 0 top)
        list(GET answer 1 log)
        file(REAL_PATH "${top}" top)
        file(REAL_PATH "${root}" here)
        if(top STREQUAL here)
          list(GET answer 2 commit)
          # A commit or a checkout appends to this log, and so the next build asks again.
          file(REAL_PATH "${log}" log BASE_DIRECTORY "${root}")
          if(EXISTS "${log}")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${log}")
          endif()
        endif()
      endif()
    endif()
  endif()
  configure_file(${root}/cmake/quietus_version.hpp.in ${folder}/quietus_version.hpp @ONLY)
endfunction()
