# SPDX-License-Identifier: Apache-2.0
# Installs the build, moves the prefix, and uses it as strangers do: each public header alone, the examples through find_package, a
# program through pkg-config, and the installed program.
cmake_minimum_required(VERSION 3.25)

# Runs a command; fails with its output unless it succeeds and prints something that matches `pattern`.
function(run pattern)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0 OR NOT "${out}${err}" MATCHES "${pattern}")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nexit status ${status}, wanted 0 and /${pattern}/\n${out}${err}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
run(".*" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${WORK}/prefix")
set(prefix "${WORK}/prefix")
set(ENV{LD_LIBRARY_PATH} "")

# Nothing that reprise itself links may be asked of its users.
file(READ "${prefix}/${LIBDIR}/cmake/reprise/reprise-config.cmake" config)
file(READ "${prefix}/${LIBDIR}/pkgconfig/reprise.pc" package)
foreach(foreign fmt dnnl json toml xxhash OpenMP gomp reprise_)
  if("${config}${package}" MATCHES "${foreign}")
    message(FATAL_ERROR "the package names something of its own making to users: ${foreign}")
  endif()
endforeach()

file(GLOB headers RELATIVE "${prefix}/include" "${prefix}/include/reprise/*.h")
list(LENGTH headers count)
if(count LESS 10)
  message(FATAL_ERROR "only ${count} public headers are installed")
endif()
foreach(header ${headers})
  file(WRITE "${WORK}/header.cpp" "#include <${header}>\n")
  run("^$" "${CXX}" -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "${prefix}/include" "${WORK}/header.cpp")
endforeach()

foreach(example transformer user_op)
  run(".*" "${CMAKE_COMMAND}" -S "${SOURCE}/examples/${example}" -B "${WORK}/${example}" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}"
      "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" -DCMAKE_BUILD_TYPE=Debug)
  run(".*" "${CMAKE_COMMAND}" --build "${WORK}/${example}")
endforeach()
run("step 200  loss 0\\.[0-9]+.*wrote: the sea was calm" "${WORK}/transformer/train_transformer")
run("recurrence: 1 samples, passed.*step 200  loss 0\\.000.*decay 0\\.(69|70)" "${WORK}/user_op/use_ops" "${WORK}/user_op/my_ops.so")

set(program "${prefix}/bin/reprise")
run("^reprise ${VERSION}\n$" "${program}" --version)
run("^%y float32\\[2, 3\\]: min " "${program}" run-trace --ops "${WORK}/user_op/my_ops.so" "${SOURCE}/examples/user_op/snake.trace")
run("REPRISE 1" "${CMAKE_COMMAND}" -E cat "${prefix}/share/man/man1/reprise.1")

# The first program of docs/cpp.md, by pkg-config.
set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
run("^${VERSION}\n$" "${PKG_CONFIG}" --modversion reprise)
execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs reprise OUTPUT_VARIABLE flags
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
file(READ "${SOURCE}/docs/cpp.md" page)
string(FIND "${page}" "#include <reprise/reprise.h>" begin)
string(SUBSTRING "${page}" ${begin} -1 page)
string(FIND "${page}" "```" end)
string(SUBSTRING "${page}" 0 ${end} program_text)
file(WRITE "${WORK}/first.cpp" "${program_text}")
run("^$" "${CXX}" -std=c++20 -Wall -Wextra "${WORK}/first.cpp" -o "${WORK}/first" ${flags} "-Wl,-rpath,${prefix}/${LIBDIR}")
run("step 500  loss 0\\.00" "${WORK}/first")
