# CUDA programs with their own main: the compiler klab-nvcc, and the runtime that they are linked with, in a folder that
# looks like a CUDA toolkit's (harness/cuda_compiler/driver.h). An installed klab has it in lib/klab/cuda.
if(NOT KLAB_CUDA_ON_HOST OR KLAB_INSTALLED)
  return()
endif()
set(top ${PROJECT_BINARY_DIR}/cuda)
file(MAKE_DIRECTORY ${top}/bin ${top}/lib64 ${top}/include/harness)

# Headers, where programs look.
file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${KLAB_HOME}/harness/cuda_program/include ${KLAB_HOME}/harness/cuda_program/include/*)
foreach(header IN LISTS headers)
  file(CREATE_LINK ${KLAB_HOME}/harness/cuda_program/include/${header} ${top}/include/${header} SYMBOLIC)
endforeach()
file(CREATE_LINK ${KLAB_HOME}/harness/simt ${top}/include/harness/simt SYMBOLIC)

# How programs are compiled: as klab's own kernels are.
set(flags "compiler ${CMAKE_CXX_COMPILER}\n")
foreach(flag IN LISTS klab_cuda_host_common klab_cuda_host_traced)
  string(APPEND flags "traced ${flag}\n")
endforeach()
foreach(flag IN LISTS klab_cuda_host_common klab_cuda_host_plain)
  string(APPEND flags "plain ${flag}\n")
endforeach()
file(GENERATE OUTPUT ${top}/flags.txt CONTENT "${flags}")

# The runtime: the host executor as a library, with CUDA's API over it. Without its own name in it, so that programs find
# it by the path that they were linked with.
file(GLOB sources CONFIGURE_DEPENDS ${KLAB_HOME}/harness/cuda_program/*.cpp)
list(REMOVE_ITEM sources ${KLAB_HOME}/harness/cuda_program/anchor.cpp)
add_library(klab_cuda SHARED ${sources} $<TARGET_OBJECTS:klab_core> $<TARGET_OBJECTS:klab_simt>)
target_link_libraries(klab_cuda PRIVATE klab_flags klab_harness_dependencies klab_core klab_simt)
klab_room_headers(klab_cuda harness/cuda_program ${KLAB_HOME})
target_include_directories(klab_cuda PRIVATE ${KLAB_HOME}/harness/cuda_program/include)
target_compile_definitions(klab_cuda PRIVATE KLAB_CUDA_PROGRAM=1)
if(KISSFFT_INCLUDE_DIR)
  target_include_directories(klab_cuda SYSTEM PRIVATE ${KISSFFT_INCLUDE_DIR})
  target_compile_definitions(klab_cuda PRIVATE KLAB_HAVE_KISSFFT=1)
endif()
target_compile_options(klab_cuda PRIVATE ${klab_room_code} -Wno-restrict)
target_link_options(klab_cuda PRIVATE -Wl,-Bsymbolic-functions)
set_target_properties(klab_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${top}/lib64 NO_SONAME ON UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)

add_library(klab_anchor STATIC ${KLAB_HOME}/harness/cuda_program/anchor.cpp)
target_link_libraries(klab_anchor PRIVATE klab_flags klab_cuda_rooms)
set_target_properties(klab_anchor PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${top}/lib64 POSITION_INDEPENDENT_CODE ON)
foreach(name libcudadevrt.so libcudart_static.so)
  file(GENERATE OUTPUT ${top}/lib64/${name} CONTENT "INPUT(${top}/lib64/libcudart.so)\n")
endforeach()
file(GENERATE OUTPUT ${top}/lib64/libcudart.so CONTENT "INPUT(${top}/lib64/libklab_anchor.a ${top}/lib64/libklab_cuda.so)\n")

add_executable(klab-nvcc ${KLAB_HOME}/harness/cuda_compiler/main.cpp $<TARGET_OBJECTS:klab_cuda_compiler>)
target_link_libraries(klab-nvcc PRIVATE klab_flags klab_cuda_compiler)
set_target_properties(klab-nvcc PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${top}/bin)
file(CREATE_LINK klab-nvcc ${top}/bin/nvcc SYMBOLIC)
file(CREATE_LINK cuda/bin/klab-nvcc ${PROJECT_BINARY_DIR}/klab-nvcc SYMBOLIC)
add_dependencies(klab-nvcc klab_cuda klab_anchor)
