# SPDX-License-Identifier: Apache-2.0
# cmake -DNM=nm "-DOBJECTS=a.o;b.o" -P check_symbols.cmake: fails when an object defines a function that the linker may share with
# other files.
foreach(object ${OBJECTS})
  execute_process(COMMAND ${NM} -C --defined-only "${object}" OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "cannot read ${object}")
  endif()
  string(REGEX MATCHALL "[0-9a-f]+ W [^\n]*" shared "${symbols}")
  if(shared)
    message(FATAL_ERROR "${object} defines ${shared}")
  endif()
endforeach()
