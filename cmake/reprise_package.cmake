# SPDX-License-Identifier: Apache-2.0
# libreprise.so, and what `cmake --install` puts where.
#
# One shared library, because an op of a user's must land in the one op table of the process: the program, a program that embeds the
# library, and a shared object of ops all refer to the same libreprise.so. It also keeps the libraries that reprise itself needs out
# of the link lines of its users: only names in namespace reprise leave it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(reprise_shared_library)
  get_property(libraries GLOBAL PROPERTY REPRISE_LIBRARIES)
  get_property(object_libraries GLOBAL PROPERTY REPRISE_OBJECT_LIBRARIES)
  # All objects; the archives that they are in, too, bring nothing more but the libraries they link.
  set(objects ${libraries} ${object_libraries})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(reprise_shared SHARED ${objects})
  target_link_libraries(reprise_shared PRIVATE reprise_flags ${libraries})
  set_target_properties(reprise_shared PROPERTIES
    OUTPUT_NAME reprise EXPORT_NAME reprise LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}" LINK_DEPENDS "${CMAKE_SOURCE_DIR}/cmake/libreprise.map")
  target_link_options(reprise_shared PRIVATE
    "LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/libreprise.map" "LINKER:-Bsymbolic-functions")
  target_compile_features(reprise_shared INTERFACE cxx_std_20)
  target_include_directories(reprise_shared INTERFACE
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

function(reprise_install)
  set(package "${CMAKE_INSTALL_LIBDIR}/cmake/reprise")
  install(TARGETS reprise RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(TARGETS reprise_shared EXPORT reprise LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT reprise NAMESPACE reprise:: FILE reprise-config.cmake DESTINATION "${package}")
  # Before 1.0 a minor version may break what was built against the one before it.
  write_basic_package_version_file("${CMAKE_BINARY_DIR}/reprise-config-version.cmake" COMPATIBILITY SameMinorVersion)
  install(FILES "${CMAKE_BINARY_DIR}/reprise-config-version.cmake" DESTINATION "${package}")
  configure_file("${CMAKE_SOURCE_DIR}/cmake/reprise.pc.in" "${CMAKE_BINARY_DIR}/reprise.pc" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/reprise.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  install(FILES "${CMAKE_BINARY_DIR}/reprise.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  get_property(headers GLOBAL PROPERTY REPRISE_PUBLIC_HEADERS)
  install(CODE "set(source \"${CMAKE_SOURCE_DIR}\")
set(headers \"${headers}\")
set(folder \"${CMAKE_INSTALL_INCLUDEDIR}\")")
  install(SCRIPT "${CMAKE_SOURCE_DIR}/cmake/install_headers.cmake")
endfunction()
