# The instruction sets that vectors are compiled for: KLAB_ISAS is `best` (the best one of the building machine), `all` (any
# machine of the architecture; the bundle), or names of Highway's targets (AVX3;AVX2;SSE4). Every target compiles each SIMD
# file once more, so the default builds one. The rungs keep their dynamic dispatch: it chooses among those that are built.
# Scalar rungs do not see any of it; their objects are the same with every choice.
set(KLAB_ISAS best CACHE STRING "Instruction sets of SIMD rungs: best (of this machine), all, or a list of AVX3, AVX2, SSE4")

# Targets that no build has: vectors whose size the compiler does not know cannot stand in arrays, and machines that have them run
# NEON; every processor with SSSE3 that klab meets has SSE4.
set(klab_never HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128 HWY_RVV HWY_SSSE3)
set(klab_known_isas AVX3 AVX2 SSE4)  # best first

# klab_best_isa(<variable>): the first of the known targets that this processor has; nothing on another architecture.
function(klab_best_isa out)
  set(CMAKE_REQUIRED_LIBRARIES hwy::hwy)
  set(CMAKE_REQUIRED_QUIET TRUE)
  set(${out} "" PARENT_SCOPE)
  foreach(isa AVX3 AVX2 SSE4)
    check_cxx_source_runs("#include <hwy/targets.h>
                           int main() { return hwy::SupportedTargets() & HWY_${isa} ? 0 : 1; }" KLAB_RUNS_${isa})
    if(KLAB_RUNS_${isa})
      set(${out} ${isa} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

set(klab_asked ${KLAB_ISAS})
set(klab_isas_of_x86 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(klab_isas_of_x86 ON)
endif()
set(KLAB_ISAS_TEXT "${KLAB_ISAS}")
if(KLAB_ASAN)
  # One target whatever was asked: instrumented code takes long to compile, and overruns show at any vector length.
  set(klab_asked all)
  list(APPEND klab_never HWY_SSE4 HWY_AVX3)
elseif(klab_asked STREQUAL "best" AND klab_isas_of_x86)
  klab_best_isa(klab_asked)
  if(NOT klab_asked)
    set(klab_asked all)
  endif()
  set(KLAB_ISAS_TEXT "${klab_asked}")
elseif(klab_asked STREQUAL "best")
  set(klab_asked all)
endif()

set(klab_one_isa OFF CACHE INTERNAL "")
if(KLAB_ASAN AND KLAB_HAS_AVX2)
  set(klab_one_isa ON CACHE INTERNAL "")
endif()
if(NOT klab_asked STREQUAL "all")
  foreach(isa IN LISTS klab_asked)
    if(NOT klab_isas_of_x86 OR NOT isa IN_LIST klab_known_isas)
      message(FATAL_ERROR "KLAB_ISAS: '${isa}' is no instruction set that klab compiles for on ${CMAKE_SYSTEM_PROCESSOR}; "
                          "say best, all, or on x86-64 names of ${klab_known_isas} with ; between them")
    endif()
  endforeach()
  list(APPEND klab_never HWY_EMU128 HWY_SCALAR)
  foreach(isa IN LISTS klab_known_isas)
    if(isa IN_LIST klab_asked)
      set(klab_lowest HWY_${isa})  # Highway takes the lowest for granted
    else()
      list(APPEND klab_never HWY_${isa})
    endif()
  endforeach()
  target_compile_definitions(klab_flags INTERFACE HWY_BASELINE_TARGETS=${klab_lowest})
  list(LENGTH klab_asked klab_isa_count)
  if(klab_isa_count EQUAL 1)
    set(klab_one_isa ON CACHE INTERNAL "")
  endif()
endif()
list(JOIN klab_never "|" klab_never)
target_compile_definitions(klab_flags INTERFACE HWY_DISABLED_TARGETS=\(${klab_never}\))
# The launcher configures again where the processor has others than these were chosen for.
file(WRITE ${PROJECT_BINARY_DIR}/isas.txt "${KLAB_ISAS}\n${KLAB_ISAS_TEXT}\n")
