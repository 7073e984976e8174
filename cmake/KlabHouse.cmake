# The rooms of the harness, from the ground up: each sees those that it names, and the rooms that these see. An installed klab reads
# this list, too; there klab_room() takes the objects that were installed.
klab_headers(contracts reference)  # contract.h, float16.h, formats.h, generator.h: all that the harness knows of an op

klab_room(core harness/core TOGETHER DEPENDS klab_contracts)
klab_room(simt harness/simt HOT TOGETHER DEPENDS klab_core)
klab_room(gpu harness/gpu TOGETHER DEPENDS klab_core)
klab_room(check harness/check TOGETHER DEPENDS klab_core klab_simt klab_gpu)
klab_room(timing harness/timing TOGETHER DEPENDS klab_core klab_gpu klab_check)
klab_room(records harness/records LIGHT TOGETHER DEPENDS klab_timing)
klab_room(compare harness/compare LIGHT TOGETHER DEPENDS klab_records)
klab_room(report harness/report LIGHT TOGETHER DEPENDS klab_compare klab_lab_dependencies)
klab_room(program harness/program LIGHT TOGETHER DEPENDS klab_report)
klab_room(web harness/web LIGHT TOGETHER DEPENDS klab_records klab_http)
if(NOT KLAB_INSTALLED)
  # The library of the server takes seconds to compile, and only this file includes it.
  set_source_files_properties(${KLAB_HOME}/harness/web/http_server.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                              SKIP_PRECOMPILE_HEADERS ON COMPILE_DEFINITIONS "${KLAB_HTTP_DEFINITIONS}")
  if(HTTPLIB_INCLUDE_DIR)
    target_include_directories(klab_web SYSTEM PRIVATE ${HTTPLIB_INCLUDE_DIR})
  endif()
endif()
klab_room(cuda_compiler harness/cuda_compiler LIGHT TOGETHER)
klab_room(step harness/step LIGHT TOGETHER DEPENDS klab_records)
klab_room(cli harness/cli LIGHT TOGETHER DEPENDS klab_report klab_step klab_cuda_compiler)
klab_room(cli_site harness/cli/site LIGHT TOGETHER DEPENDS klab_cli klab_web)
klab_room(cli_commands harness/cli/commands COMMANDS DEPENDS klab_cli_site)
add_library(klab_main OBJECT EXCLUDE_FROM_ALL ${KLAB_HOME}/harness/cli/main.cpp)
target_link_libraries(klab_main PRIVATE klab_cli)
target_compile_definitions(klab_main PRIVATE KLAB_HOME="${KLAB_HOME}")

# Headers of the harness for kernel files: registration, the unit for tiles, and the preamble of a learner's file.
klab_headers(registrar harness/core/registrar.h harness/core/tile_unit.h harness/step/work.h DEPENDS klab_contracts)
# Headers for kernels of every project, and those for CUDA kernels that are compiled for the host.
klab_headers(common_headers kernels/common)
# What contracts include, and what rungs without vectors do: reading it is most of the time to compile a short one.
add_library(klab_headers_contracts OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/headers.cpp)
target_link_libraries(klab_headers_contracts PRIVATE klab_flags klab_contracts)
target_precompile_headers(klab_headers_contracts PRIVATE <algorithm> <cmath> <cstdint> <functional> <string> <vector>
                          ${KLAB_HOME}/reference/contract.h ${KLAB_HOME}/reference/generator.h)
add_library(klab_headers_scalar OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/headers.cpp)
target_link_libraries(klab_headers_scalar PRIVATE klab_flags klab_kernel_dependencies klab_registrar klab_common_headers)
target_compile_options(klab_headers_scalar PRIVATE ${klab_kernel_code})
target_precompile_headers(klab_headers_scalar PRIVATE <algorithm> <array> <cmath> <cstdint> <vector> ${KLAB_HOME}/harness/core/registrar.h)
if(klab_one_isa)
  # Highway, read once for all SIMD rungs.
  add_library(klab_headers_simd OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/headers.cpp)
  target_link_libraries(klab_headers_simd PRIVATE klab_flags klab_kernel_dependencies klab_registrar klab_common_headers)
  target_compile_options(klab_headers_simd PRIVATE ${klab_kernel_code})
  target_precompile_headers(klab_headers_simd PRIVATE <hwy/foreach_target.h> <hwy/highway.h> <algorithm> <array> <cmath> <vector>
                            ${KLAB_HOME}/harness/core/registrar.h)
  if(NOT KLAB_ASAN AND NOT KLAB_INSTALLED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The same headers with the flags of a learner's file (harness/step/compile.cpp): GCC ignores those of other flags.
    add_library(klab_headers_step OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/headers.cpp)
    target_link_libraries(klab_headers_step PRIVATE klab_flags klab_kernel_dependencies klab_registrar klab_common_headers)
    target_compile_options(klab_headers_step PRIVATE ${klab_kernel_code} -fPIC -fvisibility=hidden -g1)
    get_target_property(headers klab_headers_simd PRECOMPILE_HEADERS)
    target_precompile_headers(klab_headers_step PRIVATE ${headers})
    add_dependencies(klab_step klab_headers_step)
  endif()
endif()
klab_headers(cuda_rooms harness/simt DEPENDS klab_registrar klab_common_headers)
if(KLAB_CUDA_ON_HOST)
  foreach(traced "" _traced)
    add_library(klab_headers_cuda${traced} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/headers.cpp)
    target_link_libraries(klab_headers_cuda${traced} PRIVATE klab_cuda_rooms)
    klab_cuda_host_flags(klab_headers_cuda${traced} "${traced}")
    target_precompile_headers(klab_headers_cuda${traced} PRIVATE ${KLAB_HOME}/harness/core/registrar.h
                              ${KLAB_HOME}/kernels/common/cuda.h)
  endforeach()
endif()

# The whole harness without main, with all that registers itself.
add_library(klab_everything INTERFACE)
add_library(klab::everything ALIAS klab_everything)
get_property(rooms GLOBAL PROPERTY klab_rooms)
if(KLAB_ASAN)
  set(rooms)  # tests/Sanitized.cmake links those that differ, and the others as the release build compiled them
endif()
foreach(room IN LISTS rooms)
  target_sources(klab_everything INTERFACE $<TARGET_OBJECTS:${room}>)
endforeach()
target_link_libraries(klab_everything INTERFACE klab_flags klab_harness_dependencies klab_kernel_dependencies klab_lab_dependencies klab_http)
# Functions that the loaded modules of CUDA variants call.
target_link_options(klab_everything INTERFACE -Wl,--dynamic-list=${KLAB_HOME}/cmake/exported_symbols.txt)

# klab_no_command: the same without commands and what they alone need, which is a quarter of the harness's compile time; a program that
# links it brings one. klab_run_only: with `run`, for programs of the tour.
if(NOT KLAB_ASAN AND NOT KLAB_INSTALLED)
  list(REMOVE_ITEM rooms klab_step klab_cuda_compiler klab_program klab_web klab_cli klab_cli_site klab_cli_commands)
  set(files_of_klab_command_line command json_option)
  set(files_of_klab_run_command counts_text ladder_text change_text recorded report_file tour_parts commands/cmd_run)
  foreach(part klab_command_line klab_run_command)
    list(TRANSFORM files_of_${part} REPLACE "(.+)" "${KLAB_HOME}/harness/cli/\\1.cpp")
    add_library(${part} OBJECT EXCLUDE_FROM_ALL ${files_of_${part}})
    klab_commands(${part} klab::cli)
    set_target_properties(${part} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endforeach()
  add_library(klab_no_command INTERFACE)
  foreach(room IN LISTS rooms ITEMS klab_command_line)
    target_sources(klab_no_command INTERFACE $<TARGET_OBJECTS:${room}>)
  endforeach()
  target_link_libraries(klab_no_command INTERFACE klab_flags klab_harness_dependencies klab_kernel_dependencies klab_lab_dependencies)
  target_link_options(klab_no_command INTERFACE -Wl,--dynamic-list=${KLAB_HOME}/cmake/exported_symbols.txt)
  add_library(klab_run_only INTERFACE)
  target_sources(klab_run_only INTERFACE $<TARGET_OBJECTS:klab_run_command>)
  target_link_libraries(klab_run_only INTERFACE klab_no_command)
  # Compiled with everything, since nothing else that is tested each time uses these units of several sources.
  add_custom_target(klab_parts_of_tour ALL DEPENDS klab_command_line klab_run_command)
endif()
