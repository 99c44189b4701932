# Which GPU plugins are built, and with which compilers. TENON_CUDA and TENON_HIP are AUTO (built where the
# compiler is found, and the summary says what was left out), ON (a missing compiler is an error) or OFF.
#
# Device code is compiled by custom commands, one for each source, alike for every platform: CMake's own CUDA and
# HIP languages do not fit the toolchains that Tenon is built with (CMake 3.25 knows no C++20 of nvcc, and does not
# configure HIP where Debian puts it).

set(TENON_CUDA AUTO CACHE STRING "The CUDA plugin: AUTO, ON or OFF")
set(TENON_HIP AUTO CACHE STRING "The HIP plugins: AUTO, ON or OFF")
set_property(CACHE TENON_CUDA TENON_HIP PROPERTY STRINGS AUTO ON OFF)
set(TENON_HIP_PLATFORMS "amd;nvidia" CACHE STRING "HIP plugins to build: a list of amd, nvidia, metax")
set(TENON_CUDA_ARCHITECTURES "80-real;90" CACHE STRING
  "Compute capabilities of device code: 90 is machine code and intermediate code, 80-real machine code alone")
set(TENON_HIP_ARCHITECTURES "gfx90a;gfx1030" CACHE STRING "AMD architectures of device code")
set(TENON_MACA_ARCHITECTURES "xcore1000" CACHE STRING "MetaX architectures of device code")

set(TENON_GPU_SUMMARY "" CACHE INTERNAL "what was built and left out")

foreach(option IN ITEMS TENON_CUDA TENON_HIP)
  string(TOUPPER "${${option}}" wanted)
  if(NOT wanted MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${option} is '${${option}}'; it is AUTO, ON or OFF")
  endif()
  set(${option} "${wanted}")  # in one spelling for all that asks
endforeach()
if(TENON_HIP STREQUAL "ON" AND NOT TENON_HIP_PLATFORMS)
  message(FATAL_ERROR "TENON_HIP is ON, but TENON_HIP_PLATFORMS is empty; it is a list of amd, nvidia, metax")
endif()

# Adds a line to the summary that plugins/CMakeLists.txt prints.
function(tenon_gpu_note text)
  set(TENON_GPU_SUMMARY "${TENON_GPU_SUMMARY};${text}" CACHE INTERNAL "what was built and left out")
endfunction()

# Sets `result` to TRUE if the plugin is to be built: wanted by the option, and nothing missing. `advice`, if given,
# says what else to do where something is.
function(tenon_gpu_decide result what option missing)
  set(wanted "${${option}}")
  set(advice "")
  if(ARGC GREATER 4 AND ARGV4)
    set(advice "; ${ARGV4}")
  endif()
  set(${result} FALSE CACHE INTERNAL "${what} is built")
  if(wanted STREQUAL "AUTO" OR wanted)
    if(NOT missing)
      set(${result} TRUE CACHE INTERNAL "${what} is built")
      tenon_gpu_note("${what}: built")
    elseif(wanted STREQUAL "AUTO")
      tenon_gpu_note("${what}: left out, ${missing}")
    else()
      message(FATAL_ERROR "${what} was asked for, but ${missing}. ${option} is ON${advice}")
    endif()
  else()
    tenon_gpu_note("${what}: left out, switched off")
  endif()
endfunction()

# An error unless `option` is a list of one or more names that match the pattern.
function(tenon_require_architectures option pattern what)
  if(NOT ${option})
    message(FATAL_ERROR "${option} is empty; it is a list of ${what}")
  endif()
  foreach(arch IN LISTS ${option})
    if(NOT arch MATCHES "^(${pattern})$")
      message(FATAL_ERROR "${option} has '${arch}'; it is a list of ${what}")
    endif()
  endforeach()
endfunction()

# nvcc's options for the architectures, and the tags that the plugin declares.
function(tenon_nvidia_architectures flags tags)
  tenon_require_architectures(TENON_CUDA_ARCHITECTURES "[0-9]+[af]?(-real|-virtual)?"
    "compute capabilities, like 90, 80-real or 90-virtual")
  set(options "")
  set(names "")
  foreach(arch IN LISTS TENON_CUDA_ARCHITECTURES)
    string(REGEX REPLACE "-(real|virtual)$" "" number "${arch}")
    if(arch MATCHES "-virtual$")
      list(APPEND options "-gencode=arch=compute_${number},code=compute_${number}")
      list(APPEND names "\"compute_${number}\"")
    elseif(arch MATCHES "-real$")
      list(APPEND options "-gencode=arch=compute_${number},code=sm_${number}")
      list(APPEND names "\"sm_${number}\"")
    else()
      list(APPEND options "-gencode=arch=compute_${number},code=[sm_${number},compute_${number}]")
      list(APPEND names "\"sm_${number}\"" "\"compute_${number}\"")
    endif()
  endforeach()
  list(JOIN names "," names)
  set(${flags} "${options}" PARENT_SCOPE)
  set(${tags} "${names}" PARENT_SCOPE)
endfunction()

# Compiles device sources and sets `objects` to what they become.
#   COMPILER: the command with all options but -c, -o and those of dependencies; DEFINES: -D options
function(tenon_gpu_objects objects name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "COMPILER;SOURCES")
  set(made "")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(stem "${source}" NAME_WE)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.dir/${stem}.o")
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${name}.dir")
    add_custom_command(OUTPUT "${object}"
      COMMAND ${arg_COMPILER} -MD -MF "${object}.d" -MT "${object}" -c "${source}" -o "${object}"
      DEPENDS "${source}"
      DEPFILE "${object}.d"
      COMMENT "Building device code of ${name}: ${stem}"
      VERBATIM)
    list(APPEND made "${object}")
  endforeach()
  set_source_files_properties(${made} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${objects} "${made}" PARENT_SCOPE)
endfunction()
