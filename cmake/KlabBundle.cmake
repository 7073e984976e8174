# The target "bundle": one folder that runs on any Linux machine of this architecture with a driver and no package manager.
# The program finds its libraries next to itself.
if(NOT KLAB_BUNDLE)
  return()
endif()
set_target_properties(klab PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
add_custom_target(
  bundle ALL
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${KLAB_HOME} -DBUILD=${PROJECT_BINARY_DIR} -DOUT=${PROJECT_BINARY_DIR}/klab-bundle
          -P ${KLAB_HOME}/cmake/Bundle.cmake
  DEPENDS klab klab_cuda_host klab_cuda_host_traced
  COMMENT "Gathering the bundle"
  VERBATIM)
