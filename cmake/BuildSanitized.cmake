# cmake -DSOURCE=… -DBUILD=… -DCXX=… -P BuildSanitized.cmake: configures and builds the preset "asan" in BUILD.
if(NOT EXISTS ${BUILD}/build.ninja)
  execute_process(COMMAND ${CMAKE_COMMAND} --preset asan -B ${BUILD} -DCMAKE_CXX_COMPILER=${CXX}
                  WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
