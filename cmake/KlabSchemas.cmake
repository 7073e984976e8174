# The schemas of JSON that klab writes for other programs, docs/schemas/*.json, as strings in the program, which prints them
# (klab schema) and marks its output with their names and versions.
file(GLOB schemas CONFIGURE_DEPENDS ${KLAB_HOME}/docs/schemas/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${schemas})
set(KLAB_SCHEMAS "")
foreach(schema IN LISTS schemas)
  get_filename_component(name ${schema} NAME_WE)
  file(READ ${schema} text)
  string(APPEND KLAB_SCHEMAS "    {\"${name}\", R\"klab(${text})klab\"},\n")
endforeach()
configure_file(${KLAB_HOME}/cmake/schemas.cpp.in ${PROJECT_BINARY_DIR}/generated/schemas.cpp @ONLY)
target_sources(klab_records PRIVATE ${PROJECT_BINARY_DIR}/generated/schemas.cpp)
