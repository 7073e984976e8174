# CUDA variants for real GPUs: every kernels/*/cuda/*.cu compiled by nvcc, the compiler's report on registers kept
# next to the program, and the objects linked into one module that the program loads where there is a GPU. Off unless asked
# for (preset "cuda"): it takes its time, and everything else works without.
option(KLAB_CUDA "Compile CUDA variants with nvcc as well" OFF)
# "90a" is machine code of that architecture; "80-virtual" is PTX, which the driver translates for anything newer.
set(KLAB_CUDA_ARCHITECTURES "80-virtual;90a" CACHE STRING "What nvcc compiles for")
if(NOT KLAB_CUDA)
  function(klab_cuda_device)
  endfunction()
  return()
endif()

find_program(KLAB_NVCC nvcc HINTS $ENV{CUDACXX} ENV CUDACXX PATHS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
if(EXISTS "$ENV{CUDACXX}" AND NOT IS_DIRECTORY "$ENV{CUDACXX}")
  set(KLAB_NVCC "$ENV{CUDACXX}" CACHE FILEPATH "" FORCE)
endif()
if(NOT KLAB_NVCC)
  message(FATAL_ERROR "KLAB_CUDA needs nvcc of CUDA 12.4 or newer: install it from NVIDIA, or name it with CUDACXX, or "
                      "build with the preset release, which executes CUDA variants on the host")
endif()
execute_process(COMMAND ${KLAB_NVCC} --version OUTPUT_VARIABLE version RESULT_VARIABLE failed)
string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" unused "${version}")
set(KLAB_NVCC_VERSION "${CMAKE_MATCH_1}")
if(failed OR NOT KLAB_NVCC_VERSION OR KLAB_NVCC_VERSION VERSION_LESS 12.4)
  message(FATAL_ERROR "${KLAB_NVCC} is CUDA '${KLAB_NVCC_VERSION}'; klab needs 12.4 or newer for C++20")
endif()

set(klab_nvcc_options -std=c++20 -O3 --expt-relaxed-constexpr -ccbin=${CMAKE_CXX_COMPILER} -Xcompiler=-fPIC
                      -Xcompiler=-fvisibility=hidden -Xcompiler=-ffp-contract=off -Xptxas=-v -lineinfo
                      -I${KLAB_HOME})
foreach(architecture IN LISTS KLAB_CUDA_ARCHITECTURES)
  if(architecture MATCHES "^([0-9]+[a-z]?)-virtual$")
    list(APPEND klab_nvcc_options -gencode=arch=compute_${CMAKE_MATCH_1},code=compute_${CMAKE_MATCH_1})
  elseif(architecture MATCHES "^[0-9]+[a-z]?$")
    list(APPEND klab_nvcc_options -gencode=arch=compute_${architecture},code=sm_${architecture})
  else()
    message(FATAL_ERROR "KLAB_CUDA_ARCHITECTURES: '${architecture}' is neither like 90a nor like 80-virtual")
  endif()
endforeach()

# klab_cuda_device(<name> <root>): for the program <name>, of the kernels below root.
function(klab_cuda_device name root)
  file(GLOB klab_device_sources CONFIGURE_DEPENDS ${root}/kernels/*/cuda/*.cu)
  set(klab_device_objects)
  set(klab_device_reports)
  foreach(source IN LISTS klab_device_sources)
    file(RELATIVE_PATH place ${root}/kernels ${source})
    string(REGEX REPLACE "/cuda/" ".cuda." id "${place}")
    string(REGEX REPLACE "\\.cu$" "" id "${id}")
    set(object ${PROJECT_BINARY_DIR}/device/${id}.o)
    add_custom_command(
      OUTPUT ${object} ${object}.txt
      COMMAND ${CMAKE_COMMAND} "-DNVCC=${KLAB_NVCC}" "-DOPTIONS=-I${root};${klab_nvcc_options}" -DSOURCE=${source} -DOBJECT=${object}
              -DID=${id} -P ${KLAB_HOME}/cmake/CompileDevice.cmake
      DEPENDS ${source} ${KLAB_HOME}/cmake/CompileDevice.cmake
      DEPFILE ${object}.d
      COMMENT "nvcc ${id}"
      VERBATIM)
    list(APPEND klab_device_objects ${object})
    list(APPEND klab_device_reports ${object}.txt)
  endforeach()

  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/cuda_resources.txt
                     COMMAND cat ${klab_device_reports} > ${PROJECT_BINARY_DIR}/cuda_resources.txt
                     DEPENDS ${klab_device_reports} VERBATIM)
  add_custom_target(${name}_cuda_resources ALL DEPENDS ${PROJECT_BINARY_DIR}/cuda_resources.txt)

  # One module of all variants and of the program's GPU services (kernels/common/device_api.cu). CUDA's runtime is
  # linked in: only the driver is needed where it runs.
  find_library(KLAB_CUDART cudart_static HINTS ${KLAB_NVCC}/../../lib64 ${KLAB_NVCC}/../../targets/x86_64-linux/lib
               ${KLAB_NVCC}/../../targets/sbsa-linux/lib REQUIRED)
  set(object ${PROJECT_BINARY_DIR}/device/device_api.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} "-DNVCC=${KLAB_NVCC}" "-DOPTIONS=-I${root};${klab_nvcc_options}"
            -DSOURCE=${KLAB_HOME}/kernels/common/device_api.cu -DOBJECT=${object} -DID=device_api
            -P ${KLAB_HOME}/cmake/CompileDevice.cmake
    DEPENDS ${KLAB_HOME}/kernels/common/device_api.cu
    DEPFILE ${object}.d
    VERBATIM)
  add_library(${name}_cuda_device MODULE ${klab_device_objects} ${object})
  set_target_properties(${name}_cuda_device PROPERTIES OUTPUT_NAME klab_cuda_device LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  set_source_files_properties(${klab_device_objects} ${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_link_libraries(${name}_cuda_device PRIVATE ${KLAB_CUDART} Threads::Threads ${CMAKE_DL_LIBS} rt)
  add_dependencies(${name} ${name}_cuda_device ${name}_cuda_resources)
endfunction()
