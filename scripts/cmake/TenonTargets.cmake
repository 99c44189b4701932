# Settings that every Tenon target shares. Applied per target, never globally.

option(TENON_WERROR "Treat warnings as errors" OFF)
set(TENON_SANITIZE "" CACHE STRING "Sanitizers for every target: empty, \"address,undefined\" or \"thread\"")

function(tenon_configure_target target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    C_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow>
    $<$<AND:$<BOOL:${TENON_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)
  if(TENON_SANITIZE)
    set(options -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer)
    # gcc's own checks of initialisation misfire in instrumented code.
    list(APPEND options $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    if(TENON_SANITIZE MATCHES "undefined")
      list(APPEND options -fno-sanitize-recover=undefined)
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${options}>")
    target_link_options(${target} PRIVATE -fsanitize=${TENON_SANITIZE})
  endif()
endfunction()
