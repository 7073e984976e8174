# Identity of this build as a source file: compiler, flags, peers, commit. Included at configure time it makes the target
# that runs this same file again, as a script, at every build, since a commit may change without a configure.
if(CMAKE_SCRIPT_MODE_FILE)
  set(KLAB_COMMIT unknown)
  set(KLAB_DIRTY false)
  set(KLAB_STATE clean)
  execute_process(COMMAND git rev-parse --show-toplevel WORKING_DIRECTORY ${KLAB_SOURCE} OUTPUT_VARIABLE top
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  file(REAL_PATH "${KLAB_SOURCE}" here)
  # klab's sources unpacked inside another checkout have no commit of their own; a project in a folder of one has.
  if(NOT failed AND (KLAB_ANYWHERE OR top STREQUAL here))
    execute_process(COMMAND git describe --always --abbrev=12 WORKING_DIRECTORY ${KLAB_SOURCE}
                    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(described)
      set(KLAB_COMMIT ${described})
    endif()
    execute_process(COMMAND git --no-optional-locks status --porcelain WORKING_DIRECTORY ${KLAB_SOURCE}
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(KLAB_DIRTY true)
      set(KLAB_STATE changed)
    endif()
  endif()
  configure_file(${KLAB_TEMPLATE} ${KLAB_OUTPUT} @ONLY)  # written only when it differs
  return()
endif()

set(KLAB_ONEDNN_VERSION none)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  set(parts)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h line REGEX "define DNNL_VERSION_${part} ")
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND parts ${number})
  endforeach()
  list(JOIN parts . KLAB_ONEDNN_VERSION)
endif()
set(KLAB_OPENBLAS_VERSION none)
if(OpenBLAS_FOUND)
  set(KLAB_OPENBLAS_VERSION ${OpenBLAS_VERSION})
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
get_target_property(options klab_flags INTERFACE_COMPILE_OPTIONS)
list(FILTER options EXCLUDE REGEX "^-W")  # warnings do not change code
list(JOIN options " " options)
string(STRIP "${CMAKE_BUILD_TYPE}: ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${options}" KLAB_BUILD_FLAGS)
string(REGEX REPLACE " +" " " KLAB_BUILD_FLAGS "${KLAB_BUILD_FLAGS}")

set(output ${PROJECT_BINARY_DIR}/generated/build_info.cpp)
set(command ${CMAKE_COMMAND} -DKLAB_SOURCE=${KLAB_HOME} -DKLAB_OUTPUT=${output}
            -DKLAB_TEMPLATE=${KLAB_HOME}/cmake/build_info.cpp.in
            "-DKLAB_COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
            "-DKLAB_BUILD_FLAGS=${KLAB_BUILD_FLAGS}" "-DKLAB_ISAS_TEXT=${KLAB_ISAS_TEXT}" -DKLAB_ONEDNN_VERSION=${KLAB_ONEDNN_VERSION}
            -DKLAB_OPENBLAS_VERSION=${KLAB_OPENBLAS_VERSION} -DKLAB_BENCHMARK_VERSION=${benchmark_VERSION}
            -P ${CMAKE_CURRENT_LIST_FILE})
execute_process(COMMAND ${command})
add_custom_target(klab_build_info COMMAND ${command} BYPRODUCTS ${output} VERBATIM)
target_sources(klab_core PRIVATE ${output})
add_dependencies(klab_core klab_build_info)
