# Finds MetaX's SDK for the plugin maca: the compiler of device code, the headers and the runtime library.
#
#   MACA_PATH       the SDK's folder; default: the environment's MACA_PATH, else /opt/maca
#   TENON_MXCC      its compiler, mxcc; by default looked for in MACA_PATH, then on the PATH
#   TENON_CUCC      cu-bridge's compiler, cucc, which serves where there is no mxcc
#   TENON_MACA_FLAGS  further options for whichever of the two compiles
#
# Nothing here was ever run with the SDK. The places and options are those that public projects for these cards use:
# `mxcc -x maca --offload-arch=xcore1000 --maca-path=DIR -std=c++17 -O3 -fPIC -I.. -c FILE -o FILE`, and that mxcc takes
# clang's options, being made of it; `cucc` takes nvcc's.

set(default "$ENV{MACA_PATH}")
if(NOT default)
  set(default /opt/maca)
endif()
set(MACA_PATH "${default}" CACHE PATH "MetaX's SDK")
set(TENON_MACA_FLAGS "" CACHE STRING "Further options for MetaX's compiler of device code, a list")

# Sets `missing` to what the SDK lacks, empty where nothing does.
function(tenon_find_maca missing)
  find_program(TENON_MXCC mxcc HINTS "${MACA_PATH}/mxgpu_llvm/bin" "${MACA_PATH}/bin")
  find_program(TENON_CUCC cucc HINTS "${MACA_PATH}/tools/cu-bridge/bin" "${MACA_PATH}/tools/cu-bridge/tools")
  find_path(TENON_MACA_INCLUDE mcr/mc_runtime.h HINTS "${MACA_PATH}/include")
  find_library(TENON_MCRUNTIME mcruntime HINTS "${MACA_PATH}/lib")
  mark_as_advanced(TENON_MXCC TENON_CUCC TENON_MACA_INCLUDE TENON_MCRUNTIME)
  set(what "")
  if(NOT TENON_MXCC AND NOT TENON_CUCC)
    set(what "neither mxcc nor cucc was found in MACA_PATH, ${MACA_PATH} (or name one with TENON_MXCC or TENON_CUCC)")
  elseif(NOT TENON_MACA_INCLUDE)
    set(what "mcr/mc_runtime.h was not found in ${MACA_PATH}/include")
  elseif(NOT TENON_MCRUNTIME)
    set(what "libmcruntime was not found in ${MACA_PATH}/lib")
  endif()
  set(${missing} "${what}" PARENT_SCOPE)
endfunction()

# Sets `command` to the compiler of device code and its options, but for -c, -o and those of dependencies.
function(tenon_maca_compiler command)
  if(TENON_MXCC)
    set(offload "${TENON_MACA_ARCHITECTURES}")
    list(TRANSFORM offload PREPEND "--offload-arch=")
    set(with "${TENON_MXCC}" -x maca ${offload} "--maca-path=${MACA_PATH}" -fPIC -fvisibility=hidden)
  else()
    set(with "${TENON_CUCC}" -Xcompiler=-fPIC,-fvisibility=hidden "-I${MACA_PATH}/tools/cu-bridge/include")
  endif()
  set(${command} ${with} -std=c++17 -O3 -DTENON_GPU_MACA=1 "-I${TENON_MACA_INCLUDE}" ${TENON_MACA_FLAGS} PARENT_SCOPE)
endfunction()
