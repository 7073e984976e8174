# The live view: labs/radiance/view, with the page that it serves as strings in the program.
klab_room(radiance_view labs/radiance/view LIGHT TOGETHER DEPENDS klab_radiance_run klab_http)
# The library of the server takes seconds to compile, and only this file includes it.
set(file ${KLAB_HOME}/labs/radiance/view/http_server.cpp)
set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON
                            COMPILE_DEFINITIONS "${KLAB_HTTP_DEFINITIONS}")
if(HTTPLIB_INCLUDE_DIR AND NOT KLAB_INSTALLED)
  target_include_directories(klab_radiance_view SYSTEM PRIVATE ${HTTPLIB_INCLUDE_DIR})
endif()
foreach(part page.html page.css page.js)
  set(file ${KLAB_HOME}/labs/radiance/view/${part})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  string(MAKE_C_IDENTIFIER KLAB_live_${part} variable)
  file(READ ${file} ${variable})
endforeach()
configure_file(${KLAB_HOME}/cmake/live_page.cpp.in ${PROJECT_BINARY_DIR}/generated/live_page.cpp @ONLY)
target_sources(klab_radiance_view PRIVATE ${PROJECT_BINARY_DIR}/generated/live_page.cpp)
