# Compiler flags in one place. Link klab_flags to get them.
option(KLAB_TESTS "Build the tests" ON)
set(werror OFF)
if(PROJECT_NAME STREQUAL "klab" AND PROJECT_IS_TOP_LEVEL)
  set(werror ON)
endif()
option(KLAB_WERROR "Treat warnings as errors: in klab's own code, not in yours" ${werror})
option(KLAB_BUNDLE "Gather one folder that runs elsewhere (target bundle)" OFF)
option(KLAB_ASAN "AddressSanitizer and UndefinedBehaviorSanitizer" OFF)

# Timed kernels are optimized ones, also where klab is a folder of another project.
get_property(several_configurations GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT several_configurations)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
if(PROJECT_NAME STREQUAL "klab")
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # klab step compiles a learner's file as its neighbors were

add_library(klab_flags INTERFACE)
target_compile_features(klab_flags INTERFACE cxx_std_20)
# No contraction and no fast-math: the reference must round as written. Kernels ask for a fused multiply-add by name.
target_compile_options(klab_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
                                            -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in const char* + std::string that are not there (GCC bug 105651).
  target_compile_options(klab_flags INTERFACE -Wno-restrict)
endif()
if(KLAB_WERROR)
  target_compile_options(klab_flags INTERFACE -Werror)
endif()
# klab_here: for code that only runs where it was built, and takes long to compile: one of Highway's targets that this
# processor has.
add_library(klab_here INTERFACE)
include(CheckCXXSourceRuns)
check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"x86-64-v3\") && __builtin_cpu_supports(\"aes\") ? 0 : 1; }"
                      KLAB_HAS_AVX2)
if(KLAB_HAS_AVX2)
  target_compile_options(klab_here INTERFACE -march=haswell -maes -mpclmul)
  target_compile_definitions(klab_here INTERFACE HWY_COMPILE_ONLY_STATIC)
endif()
if(PROJECT_NAME STREQUAL "klab" AND PROJECT_IS_TOP_LEVEL)
  # The linker's hash of a program would differ from commit to commit (tests/run.sh).
  target_link_options(klab_flags INTERFACE $<BUILD_INTERFACE:LINKER:--build-id=none>)
endif()
if(KLAB_ASAN)
  # Little optimization and one of Highway's targets (KlabIsas.cmake).
  target_link_libraries(klab_flags INTERFACE klab_here)
  string(REPLACE "-O3" "-Og" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  # Null pointers, pointers that wrap and accesses beyond an object end at AddressSanitizer too, when they are followed. To
  # look at every pointer twice is a quarter of the time to compile.
  target_compile_options(klab_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                              -fno-sanitize=null,pointer-overflow,object-size
                                              -fno-omit-frame-pointer -g1)
  # Instrumented code gives false warnings in GCC (see its manual); the release build decides.
  target_compile_options(klab_flags INTERFACE -w)
  target_link_options(klab_flags INTERFACE -fsanitize=address,undefined)
endif()
