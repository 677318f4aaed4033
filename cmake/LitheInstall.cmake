# Header, libraries, pkg-config file and CMake package.
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lithe)
install(FILES include/lithe.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(installed lithe_static)
if(LITHE_BUILD_SHARED)
  list(APPEND installed lithe_shared)
endif()
install(TARGETS ${installed} EXPORT lithe ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT lithe NAMESPACE lithe:: FILE lithe-targets.cmake DESTINATION ${cmake_dir})

configure_package_config_file(cmake/lithe-config.cmake.in lithe-config.cmake INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(lithe-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lithe-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lithe-config-version.cmake
        DESTINATION ${cmake_dir})

configure_file(cmake/lithe.pc.in lithe.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lithe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
