# The target "bundle": one folder that runs on any Linux machine of this architecture with a driver and no package manager.
# The program finds its libraries beside itself.
if(NOT KLAB_BUNDLE)
  return()
endif()
set_target_properties(klab PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
add_custom_target(
  bundle ALL
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DBUILD=${CMAKE_BINARY_DIR} -DOUT=${CMAKE_BINARY_DIR}/klab-bundle
          -P ${CMAKE_SOURCE_DIR}/cmake/Bundle.cmake
  DEPENDS klab klab_cuda_host klab_cuda_host_traced
  COMMENT "Gathering the bundle"
  VERBATIM)
