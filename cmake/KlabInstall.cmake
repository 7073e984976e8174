# An installed klab: the rooms as objects, their headers, and the files with which a project links its own kernels.
#
#   find_package(klab 0.1 REQUIRED)
#   klab_add_kernels(${CMAKE_CURRENT_SOURCE_DIR} NAME mine)      # kernels of its own
#   target_link_libraries(mine PRIVATE klab::radiance)            # the trainer
#
#   include/klab/radiance.h                            the trainer's header
#   include/klab/{harness,reference,kernels/common}   headers as klab's sources include them, and the few sources that are
#                                                      compiled into every program and module
#   lib/klab/<room>/*.o                                the rooms
#   lib/klab/libklab_radiance.a                        the trainer (KlabRadiance.cmake)
#   lib/cmake/klab/                                    the package
if(KLAB_ASAN)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(home ${CMAKE_INSTALL_INCLUDEDIR}/klab)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/klab)
install(DIRECTORY ${KLAB_HOME}/harness DESTINATION ${home} FILES_MATCHING PATTERN "*.h")
install(FILES ${KLAB_HOME}/reference/boundaries.h ${KLAB_HOME}/reference/contract.h ${KLAB_HOME}/reference/float16.h ${KLAB_HOME}/reference/formats.h ${KLAB_HOME}/reference/generator.h DESTINATION ${home}/reference)
install(DIRECTORY ${KLAB_HOME}/kernels/common DESTINATION ${home}/kernels)
# A project that includes a header by a former path fails with an error that has the present one.
file(STRINGS ${KLAB_HOME}/cmake/moved_headers.txt moves REGEX "^kernels/")
foreach(move IN LISTS moves)
  string(REGEX MATCH "^([^ ]+) ([^ ]+)$" move "${move}")
  file(WRITE ${PROJECT_BINARY_DIR}/moved/${CMAKE_MATCH_1} "#error \"${CMAKE_MATCH_1} is now ${CMAKE_MATCH_2}: include that\"\n")
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/moved/kernels DESTINATION ${home})
install(FILES ${KLAB_HOME}/harness/cli/main.cpp DESTINATION ${home}/harness/cli)
install(FILES ${KLAB_HOME}/harness/simt/anchor.cpp DESTINATION ${home}/harness/simt)
get_property(rooms GLOBAL PROPERTY klab_rooms)
foreach(room IN LISTS rooms)
  string(REGEX REPLACE "^klab_" "" name ${room})
  install(FILES $<TARGET_OBJECTS:${room}> DESTINATION ${CMAKE_INSTALL_LIBDIR}/klab/${name})
endforeach()
install(TARGETS klab_radiance_code ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/klab)
install(FILES ${KLAB_HOME}/labs/radiance/library/klab/radiance.h DESTINATION ${home})
foreach(file KlabFlags KlabDependencies KlabIsas KlabRooms KlabKernels KlabHouse KlabRadiance KlabCuda KlabBuildInfo CompileDevice)
  install(FILES ${KLAB_HOME}/cmake/${file}.cmake DESTINATION ${home}/cmake)
endforeach()
install(FILES ${KLAB_HOME}/cmake/exported_symbols.txt ${KLAB_HOME}/cmake/project_info.cpp.in DESTINATION ${home}/cmake)
install(FILES ${KLAB_HOME}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/klab)
configure_package_config_file(${KLAB_HOME}/cmake/klabConfig.cmake.in ${PROJECT_BINARY_DIR}/klabConfig.cmake
                              INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Object files fit the sources of their own version only.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/klabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/klabConfig.cmake ${PROJECT_BINARY_DIR}/klabConfigVersion.cmake DESTINATION ${package})

# CUDA programs: the files that cmake/KlabPrograms.cmake collects, and klab-nvcc where compilers are.
if(TARGET klab_cuda)
  set(cuda ${CMAKE_INSTALL_LIBDIR}/klab/cuda)
  install(TARGETS klab-nvcc RUNTIME DESTINATION ${cuda}/bin)
  install(TARGETS klab_cuda LIBRARY DESTINATION ${cuda}/lib64)
  install(TARGETS klab_anchor ARCHIVE DESTINATION ${cuda}/lib64)
  install(FILES ${PROJECT_BINARY_DIR}/cuda/flags.txt DESTINATION ${cuda})
  install(DIRECTORY ${KLAB_HOME}/harness/cuda_program/include/ DESTINATION ${cuda}/include)
  install(DIRECTORY ${KLAB_HOME}/harness/simt DESTINATION ${cuda}/include/harness FILES_MATCHING PATTERN "*.h")
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    set(libraries \"\${CMAKE_INSTALL_PREFIX}/${cuda}/lib64\")
    foreach(name libcudart.so libcudart_static.so libcudadevrt.so)
      file(WRITE \"\${prefix}/${cuda}/lib64/\${name}\" \"INPUT(\${libraries}/libklab_anchor.a \${libraries}/libklab_cuda.so)\\n\")
    endforeach()
    file(CREATE_LINK klab-nvcc \"\${prefix}/${cuda}/bin/nvcc\" SYMBOLIC)
    file(MAKE_DIRECTORY \"\${prefix}/${CMAKE_INSTALL_BINDIR}\")
    file(CREATE_LINK ../${cuda}/bin/klab-nvcc \"\${prefix}/${CMAKE_INSTALL_BINDIR}/klab-nvcc\" SYMBOLIC)")
endif()
