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
  # When it optimises, gcc 12 warns of overlapping or endless copies in `"literal" + std::string` where there are
  # none (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651), and of members of a variant that is another one's.
  target_compile_options(${target} PRIVATE
    "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-restrict;-Wno-stringop-overflow;-Wno-maybe-uninitialized>")
  if(TENON_SANITIZE)
    set(options -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer)
    if(TENON_SANITIZE MATCHES "undefined")
      list(APPEND options -fno-sanitize-recover=undefined)
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${options}>")
    target_link_options(${target} PRIVATE -fsanitize=${TENON_SANITIZE})
  endif()
endfunction()

# Precompiles what nearly every file of a larger target includes: half of a small file's compile time is parsing it.
# Further headers may follow the target's name, without their brackets.
function(tenon_precompile target)
  set(headers algorithm array functional map memory optional span string string_view utility variant vector
    tl/expected.hpp ${ARGN})
  list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# For code whose speed nobody waits for (readers, commands, tests): optimised builds optimise it less, and so
# compile it sooner. Level: 0 or 1.
function(tenon_compile_quickly target level)
  if(TENON_SANITIZE)
    return()  # the preset says how
  endif()
  target_compile_options(${target} PRIVATE
    "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<NOT:$<CONFIG:Debug>>>:-O${level}>")
endfunction()
