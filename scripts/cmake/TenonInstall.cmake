# Installs the package: libraries, public headers, the command, plugins and the CMake files that find them.
# Included once, by the top-level CMakeLists.txt, when every target exists.
include(CMakePackageConfigHelpers)

set(TENON_PLUGIN_INSTALL_DIR "${CMAKE_INSTALL_LIBDIR}/tenon/plugins")
set(TENON_CMAKE_INSTALL_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/tenon")

# A header is public by its place: what stands under include/ of the target's folder is installed, and
# compiled alone where CMAKE_VERIFY_INTERFACE_HEADER_SETS is on.
function(tenon_add_public_headers target)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(type ${target} TYPE)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${folder}/include/tenon/*.h" "${folder}/include/tenon/*.hpp")
  if(NOT headers)
    return()
  endif()
  set(scope PUBLIC)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)  # plain C must do for plugins, so nothing is asked of the C++ compiler here
  else()
    target_compile_features(${target} PUBLIC cxx_std_20)
  endif()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${folder}/include" FILES ${headers})
endfunction()

# Every MODULE library in a folder and below: the plugins of this build.
function(tenon_collect_modules folder result)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  set(found "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "MODULE_LIBRARY")
      list(APPEND found ${target})
    endif()
  endforeach()
  foreach(each IN LISTS below)
    tenon_collect_modules("${each}" more)
    list(APPEND found ${more})
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

set(libraries "")
foreach(target tenon_plugin_api tenon_contracts tenon_core tenon_manifest tenon_manifest_plans tenon_loader tenon_ops tenon)
  if(TARGET ${target})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "LIBRARY")
      # tenon is only a name for the libraries below it; headers of the others come with the folder's first.
      if(NOT target MATCHES "^(tenon|tenon_manifest_plans)$")
        tenon_add_public_headers(${target})
      endif()
      list(APPEND libraries ${target})
    endif()
  endif()
endforeach()
install(TARGETS ${libraries} EXPORT tenon-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT tenon-targets NAMESPACE tenon:: DESTINATION "${TENON_CMAKE_INSTALL_DIR}")

foreach(target tenon_cli tenon_conform tenon_bench tenon_plugin_lint)
  if(TARGET ${target})
    install(TARGETS ${target} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()

tenon_collect_modules("${CMAKE_SOURCE_DIR}/plugins" plugins)
add_custom_target(tenon_plugins) # all plugins of this build
if(plugins)
  add_dependencies(tenon_plugins ${plugins})
  install(TARGETS ${plugins} LIBRARY DESTINATION "${TENON_PLUGIN_INSTALL_DIR}")
endif()

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/tenon-config.cmake.in" "${CMAKE_BINARY_DIR}/tenon-config.cmake"
  INSTALL_DESTINATION "${TENON_CMAKE_INSTALL_DIR}"
  PATH_VARS TENON_PLUGIN_INSTALL_DIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/tenon-config-version.cmake" COMPATIBILITY SameMajorVersion)
install(FILES
  "${CMAKE_BINARY_DIR}/tenon-config.cmake"
  "${CMAKE_BINARY_DIR}/tenon-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/TenonAddPlugin.cmake"
  DESTINATION "${TENON_CMAKE_INSTALL_DIR}")
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
