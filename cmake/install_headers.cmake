# SPDX-License-Identifier: Apache-2.0
# Run by `cmake --install` with `source`, `headers` (public ones, relative to src) and `folder` (of headers, in the prefix). Headers of
# src go to include/reprise/src, and every include of one names it there, so that no folder of the user's can come before ours. Fails
# on an include of a header that is not public, or not of the standard library.
cmake_policy(VERSION 3.25)
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${folder}")

function(install_header from to)
  file(READ "${from}" text)
  string(REGEX MATCHALL "#include [\"<][^\">]+[\">]" includes "${text}")
  foreach(include ${includes})
    string(REGEX REPLACE "#include [\"<]([^\">]+)[\">]" "\\1" name "${include}")
    if(include MATCHES "<" AND name MATCHES "[./]")
      message(FATAL_ERROR "${from}: a public header includes a header that is not of the standard library: ${name}")
    elseif(include MATCHES "\"" AND NOT name MATCHES "^reprise/" AND NOT name IN_LIST headers)
      message(FATAL_ERROR "${from}: a public header includes one that is not public: ${name}")
    elseif(name IN_LIST headers)
      string(REPLACE "#include \"${name}\"" "#include \"reprise/src/${name}\"" text "${text}")
    endif()
  endforeach()
  file(WRITE "${root}/${to}" "${text}")
endfunction()

file(GLOB doors RELATIVE "${source}/include" "${source}/include/reprise/*.h")
foreach(door ${doors})
  install_header("${source}/include/${door}" "${door}")
endforeach()
foreach(header ${headers})
  install_header("${source}/src/${header}" "reprise/src/${header}")
endforeach()
message(STATUS "Installed headers: ${root}/reprise")
