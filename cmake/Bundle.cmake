# cmake -DSOURCE=... -DBUILD=... -DOUT=... -P Bundle.cmake: gathers program, modules, libraries, kernels and lessons in OUT,
# and packs them as OUT.tar.gz. The folder appears when it is whole.
set(most_bytes 80000000)
set(made ${OUT}.partial)
file(REMOVE_RECURSE ${made})
file(MAKE_DIRECTORY ${made}/bin ${made}/lib)
file(GLOB modules ${BUILD}/libklab_cuda_host.so ${BUILD}/libklab_cuda_host_traced.so ${BUILD}/libklab_cuda_device.so
     ${BUILD}/cuda_resources.txt)
file(COPY ${BUILD}/klab ${modules} DESTINATION ${made}/bin)
# Names of functions that nothing outside asks for are a tenth of it. The executor's own modules keep theirs: findings name lines.
find_program(KLAB_STRIP strip)
if(KLAB_STRIP)
  execute_process(COMMAND ${KLAB_STRIP} ${made}/bin/klab ${made}/bin/libklab_cuda_device.so COMMAND_ERROR_IS_FATAL ANY)
endif()
# Leaves out libraries that every Linux has, and the driver's: both must be the machine's own.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${BUILD}/klab RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR lost
     PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|cuda)\\.so" "^ld-linux")
if(lost)
  message(FATAL_ERROR "not found: ${lost}")
endif()
foreach(library IN LISTS found)
  file(COPY ${library} DESTINATION ${made}/lib FOLLOW_SYMLINK_CHAIN)
endforeach()
file(COPY ${SOURCE}/LICENSE ${SOURCE}/README.md DESTINATION ${made})
file(COPY ${SOURCE}/kernels ${SOURCE}/labs DESTINATION ${made} FILES_MATCHING PATTERN "*.cpp" PATTERN "*.cu" PATTERN "*.h"
     PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
file(MAKE_DIRECTORY ${made}/reports)
file(COPY ${SOURCE}/reports/record.sh ${SOURCE}/reports/gpu_queue.sh ${SOURCE}/reports/gpu_queue.csv DESTINATION ${made}/reports)
file(GLOB_RECURSE files ${made}/*)
set(bytes 0)
foreach(file IN LISTS files)
  if(NOT IS_SYMLINK ${file})
    file(SIZE ${file} size)
    math(EXPR bytes "${bytes} + ${size}")
  endif()
endforeach()
if(bytes GREATER most_bytes)
  message(FATAL_ERROR "the bundle has ${bytes} bytes; it may have ${most_bytes}. Configure without the vendor libraries "
                      "(KLAB_PEERS=OFF)")
endif()
file(REMOVE_RECURSE ${OUT})
file(RENAME ${made} ${OUT})
get_filename_component(folder ${OUT} DIRECTORY)
get_filename_component(name ${OUT} NAME)
execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf ${OUT}.tar.gz ${name} WORKING_DIRECTORY ${folder}
                COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "${OUT}: ${bytes} bytes")
