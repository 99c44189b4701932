# The fake plugins: one thin source built many times, its functions built once. README.md explains each variant.
set(fakes_dir "${CMAKE_BINARY_DIR}/tests/fakes")

add_library(tenon_fake_functions STATIC fake_functions.cpp)
tenon_configure_target(tenon_fake_functions)
target_include_directories(tenon_fake_functions PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/..)
target_link_libraries(tenon_fake_functions PUBLIC tenon::plugin_api)

# Headers for the test, the folder's name, and everything built before the test runs.
add_library(tenon_test_fakes INTERFACE)
add_library(tenon::test_fakes ALIAS tenon_test_fakes)
target_include_directories(tenon_test_fakes INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/..)
target_compile_definitions(tenon_test_fakes INTERFACE "TENON_FAKES_DIR=\"${fakes_dir}\"")
target_link_libraries(tenon_test_fakes INTERFACE tenon::plugin_api)

# tenon_add_fake(VARIANT DEFINITION...): fakes/VARIANT/VARIANT.tenon.so with FAKE_ID VARIANT unless a definition says otherwise.
function(tenon_add_fake variant)
  set(definitions ${ARGN})
  if(NOT "${definitions}" MATCHES "FAKE_ID=")
    list(APPEND definitions "FAKE_ID=\"${variant}\"")
  endif()
  tenon_add_plugin(${variant} TARGET fake_${variant} SOURCES fake_plugin.cpp LIBRARIES tenon_fake_functions
    OUTPUT_DIRECTORY "${fakes_dir}/${variant}" UNCHECKED)
  target_compile_definitions(fake_${variant} PRIVATE ${definitions})
  add_dependencies(tenon_test_fakes fake_${variant})
endfunction()

# The mock device and, for two-vendor tests, plugins that serve its kind and `cpu`.
tenon_add_plugin(fake TARGET fake_mock SOURCES mock_plugin.cpp LIBRARIES tenon_fake_functions
  OUTPUT_DIRECTORY "${fakes_dir}/fake")
add_dependencies(tenon_test_fakes fake_mock)
tenon_add_fake(good)
foreach(vendor alpha beta)
  tenon_add_fake(${vendor})
  tenon_add_fake(${vendor}-cpu "FAKE_ID=\"${vendor}\"" "FAKE_KIND=\"cpu\"")
endforeach()
tenon_add_fake(alpha-over-beta "FAKE_ID=\"alpha\"" "FAKE_FAST_PREFERS=\"beta:*\"")
tenon_add_fake(alpha-over-beta-fast "FAKE_ID=\"alpha\"" "FAKE_FAST_PREFERS=\"beta:fast\"")
tenon_add_fake(beta-over-alpha-fast "FAKE_ID=\"beta\"" "FAKE_FAST_PREFERS=\"alpha:fast\"")
tenon_add_fake(alpha-2 "FAKE_ID=\"alpha\"" "FAKE_VERSION=\"2.0.0\"")
tenon_add_fake(alpha-10 "FAKE_ID=\"alpha\"" "FAKE_VERSION=\"10.0.0\"")
tenon_add_fake(with-reference FAKE_REFERENCE)
tenon_add_fake(any-layout FAKE_LAYOUTS=TENON_LAYOUTS_ALL)
tenon_add_fake(arch-f1 "FAKE_ARCH=\"f1\"")
tenon_add_fake(arch-f3 "FAKE_ARCH=\"f3\"")
tenon_add_fake(needs-nowhere "FAKE_KIND=\"nowhere\"")
tenon_add_fake(old-contract FAKE_CONTRACT=kFakeOldAddContract)
tenon_add_fake(foreign-contract FAKE_CONTRACT=kFakeForeignContract)
tenon_add_fake(unknown-preference "FAKE_FAST_PREFERS=\"gamma:fast\"")

# Before the map: what the note says.
tenon_add_fake(no-note FAKE_NO_NOTE)
tenon_add_fake(note-id "FAKE_NOTE_ID=\"other\"")
tenon_add_fake(note-version "FAKE_NOTE_VERSION=\"9.9.9\"")
tenon_add_fake(wrong-major TENON_ABI_TEST_MAJOR=7u)
tenon_add_fake(new-minor TENON_ABI_TEST_MINOR=9u)
tenon_add_fake(v1-minor3-target1 TENON_ABI_TEST_MAJOR=1u TENON_ABI_TEST_MINOR=3u TENON_TARGET_MINOR=1u)
tenon_add_fake(v1-minor3-target3 TENON_ABI_TEST_MAJOR=1u TENON_ABI_TEST_MINOR=3u TENON_TARGET_MINOR=3u)

# While it is mapped.
foreach(deed throw abort exit hang trap)
  string(SUBSTRING ${deed} 0 1 first)
  string(TOUPPER ${first} first)
  string(SUBSTRING ${deed} 1 -1 rest)
  tenon_add_fake(constructor-${deed} FAKE_CONSTRUCTOR=k${first}${rest})
  tenon_add_fake(init-${deed} FAKE_INIT=k${first}${rest})
endforeach()
tenon_add_fake(late-abort FAKE_CONSTRUCTOR=kLateAbort)
tenon_add_fake(undefined-symbol FAKE_UNDEFINED)
target_link_options(fake_undefined-symbol PRIVATE "LINKER:-z,undefs")

# The exported object.
tenon_add_fake(no-symbol FAKE_NO_OBJECT)
tenon_add_fake(object-major FAKE_OBJECT_MAJOR=7u)
tenon_add_fake(size-zero FAKE_STRUCT_SIZE=0)
tenon_add_fake(size-short FAKE_STRUCT_SIZE=24)
tenon_add_fake(size-huge "FAKE_STRUCT_SIZE=(1ull<<40)")
tenon_add_fake(required-feature FAKE_REQUIRED_FEATURES=0x80000000u)
tenon_add_fake(init-null FAKE_NULL_INIT)
tenon_add_fake(init-outside FAKE_INIT_OUTSIDE)
tenon_add_fake(init-error FAKE_INIT=kError)
tenon_add_fake(init-error-without-text FAKE_INIT=kErrorWithoutText)

# The rows.
foreach(fault null-build null-contract duplicate-key unknown-op unknown-interface bad-utf8 count-overflow
        element-size-zero short-row huge-row unmapped-rows unmapped-name unmapped-function data-as-function
        unknown-dtype two-general cycle second-owner kind-without-alloc enumerate-error enumerate-throws no-rows)
  string(REPLACE "-" ";" words "${fault}")
  set(name k)
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(TOUPPER ${first} first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(APPEND name ${first}${rest})
  endforeach()
  tenon_add_fake(${fault} FAKE_FAULT=${name})
endforeach()
