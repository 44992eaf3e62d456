# SPDX-License-Identifier: Apache-2.0
# One static library per source folder. The DEPENDS list of a folder is its dependency rule.

# Flags every reprise target is built with. Contraction is explicit: fma only where the code says fma.
add_library(reprise_flags INTERFACE)
target_include_directories(reprise_flags INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_compile_options(reprise_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -ffp-contract=off -march=x86-64-v2)
# For clang: formulas join comparisons by | and & so that they become branch-free vector code, loops carry GCC's ivdep, and
# a lambda may need what it captures in one branch of an `if constexpr` alone.
foreach(warning bitwise-conditional-parentheses bitwise-instead-of-logical unknown-pragmas unused-lambda-capture)
  target_compile_options(reprise_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-${warning}>)
endforeach()
if(REPRISE_WERROR)
  target_compile_options(reprise_flags INTERFACE -Werror)
endif()
if(REPRISE_SANITIZE)
  target_compile_options(reprise_flags INTERFACE -fsanitize=${REPRISE_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(reprise_flags INTERFACE -fsanitize=${REPRISE_SANITIZE})
  # The tests count allocations with operators new of their own; clang's runtime for threads is linked in and has some, too.
  if(REPRISE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_link_options(reprise_flags INTERFACE LINKER:--allow-multiple-definition)
  endif()
endif()

# reprise_library(NAME [DEPENDS folder...] [LIBRARIES external...] [PUBLIC_HEADERS header...]): library reprise_NAME from every .cpp
# beside the caller. Public headers are installed with those of include/reprise, which forward to them.
function(reprise_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES;PUBLIC_HEADERS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  add_library(reprise_${name} STATIC ${sources})
  set(dependencies ${arg_DEPENDS})
  list(TRANSFORM dependencies PREPEND reprise_)
  target_link_libraries(reprise_${name} PUBLIC reprise_flags ${dependencies} PRIVATE fmt::fmt ${arg_LIBRARIES})
  list(JOIN arg_DEPENDS "," joined)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${CMAKE_SOURCE_DIR}/src" OUTPUT_VARIABLE folder)
  set_property(GLOBAL APPEND PROPERTY REPRISE_LAYERS "${folder}=${joined}")
  set_property(GLOBAL APPEND PROPERTY REPRISE_LIBRARIES reprise_${name})
  list(TRANSFORM arg_PUBLIC_HEADERS PREPEND "${folder}/")
  set_property(GLOBAL APPEND PROPERTY REPRISE_PUBLIC_HEADERS ${arg_PUBLIC_HEADERS})
  file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  set_property(GLOBAL APPEND PROPERTY REPRISE_HEADERS ${headers})
endfunction()

# Tests of the structure: the layers hold, and every header compiles by itself.
function(reprise_structure_tests)
  get_property(layers GLOBAL PROPERTY REPRISE_LAYERS)
  list(JOIN layers "\n" rules)
  file(WRITE "${CMAKE_BINARY_DIR}/layers.txt" "${rules}\n")
  add_test(NAME structure/layers
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${CMAKE_SOURCE_DIR}" "-DRULES=${CMAKE_BINARY_DIR}/layers.txt"
      -P "${CMAKE_SOURCE_DIR}/cmake/check_layers.cmake")
  get_property(headers GLOBAL PROPERTY REPRISE_HEADERS)
  list(JOIN headers "\n" lines)
  file(WRITE "${CMAKE_BINARY_DIR}/headers.txt" "${lines}\n")
  set(check "'${CMAKE_CXX_COMPILER}' -std=c++20 -march=x86-64-v2 -fsyntax-only -w -x c++ -I '${CMAKE_SOURCE_DIR}/src'")
  add_test(NAME structure/headers COMMAND sh -c "xargs -n 1 -P 2 ${check} < '${CMAKE_BINARY_DIR}/headers.txt'")
endfunction()
