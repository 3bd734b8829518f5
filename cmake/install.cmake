# What `cmake --install` installs. Nothing depends on the prefix given at configuration time, so
# that --prefix and DESTDIR work and an installed tree can be moved.
include(CMakePackageConfigHelpers)

install(TARGETS percpu percpu_static EXPORT percpu-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/percpu
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(PERCPU_COMMAND)
  install(TARGETS percpu_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

foreach(section 1 3 5 7)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/man${section}/*.${section})
  if(pages)
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endif()
endforeach()

# The CMake package: percpu::percpu and percpu::percpu_static.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/percpu)
install(EXPORT percpu-targets NAMESPACE percpu:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/percpu-config.cmake.in
  ${PROJECT_BINARY_DIR}/percpu-config.cmake
  INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/percpu-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/percpu-config.cmake
  ${PROJECT_BINARY_DIR}/percpu-config-version.cmake
  DESTINATION ${package_dir})

# The pkg-config file finds its prefix from its own place.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${pc_dir})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH pc_to_prefix /prefix/${pc_dir} /prefix)
  string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
  set(pc_prefix "\${pcfiledir}/${pc_to_prefix}")
endif()
foreach(dir LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
    set(pc_${dir} ${CMAKE_INSTALL_${dir}})
  else()
    set(pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
set(pc_definitions "")
foreach(definition PERCPU_DEBUG PERCPU_INJECT PERCPU_ARCH_NONE)
  if(${definition})
    string(APPEND pc_definitions " -D${definition}")
  endif()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/percpu.pc.in ${PROJECT_BINARY_DIR}/percpu.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/percpu.pc DESTINATION ${pc_dir})
