# Rooms: one folder, one target each. A room sees the headers of the rooms that it is linked with and no others: every
# room has its own include folder in the build tree, which holds only a link to it. So an include against the
# direction of target_link_libraries does not compile.

# klab_room_headers(<target> <path from the root of the tree> <folder that the path lies in>): lets those who link <target>
# write #include "<path>/x.h".
function(klab_room_headers target path root)
  string(REPLACE "::" "_" place ${target})
  set(place ${PROJECT_BINARY_DIR}/rooms/${place})
  get_filename_component(above ${place}/${path} DIRECTORY)
  file(MAKE_DIRECTORY ${above})
  file(CREATE_LINK ${root}/${path} ${place}/${path} SYMBOLIC)
  get_target_property(type ${target} TYPE)
  get_target_property(imported ${target} IMPORTED)
  set(scope PUBLIC)
  if(imported OR type STREQUAL INTERFACE_LIBRARY)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${place})
  # The debugger, __FILE__ and traces show the file's real place.
  target_compile_options(${target} ${scope} -ffile-prefix-map=${place}/=${root}/)
endfunction()

# klab_headers(<name> <paths from klab's root>... [DEPENDS <targets>...]): the target klab_<name> that lets these headers be
# included.
function(klab_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 headers "" "" DEPENDS)
  add_library(klab_${name} INTERFACE)
  add_library(klab::${name} ALIAS klab_${name})
  foreach(path IN LISTS headers_UNPARSED_ARGUMENTS)
    klab_room_headers(klab_${name} ${path} ${KLAB_HOME})
  endforeach()
  target_link_libraries(klab_${name} INTERFACE ${headers_DEPENDS})
endfunction()

# klab_room(<name> <folder, from klab's root> [HOT | BETWEEN | LIGHT] [TOGETHER] [COMMANDS] [DEPENDS <rooms and libraries>...]):
# the target klab_<name>, also called klab::<name>, of all C++ files of the folder.
#   HOT       code in whose own loops most of the time is spent: -O3; without one of these words -O2
#   BETWEEN   code that prepares and calls kernels, which have the loops: -O1, since it is compiled before the first training
#   LIGHT     code that waits for a person, or computes a size once, need not be fast, and compiles in half the time
#   TOGETHER  several files are compiled as one, which takes a third of the time, since most of it goes into what they
#             include; their anonymous namespaces then are one, and names in them differ
#   COMMANDS  commands of the command line, one a file, each in a namespace klab::<name>_command
function(klab_room name folder)
  cmake_parse_arguments(PARSE_ARGV 2 room "HOT;BETWEEN;LIGHT;TOGETHER;COMMANDS" "" DEPENDS)
  set(target klab_${name})
  if(KLAB_INSTALLED)
    file(GLOB objects ${KLAB_INSTALLED}/${name}/*.o)
    if(NOT objects)
      message(FATAL_ERROR "${KLAB_INSTALLED}/${name} holds no objects of this room of klab: install klab again")
    endif()
    add_library(${target} OBJECT IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES IMPORTED_OBJECTS "${objects}")
    set(scope INTERFACE)
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${KLAB_HOME}/${folder}/*.cpp)
    list(REMOVE_ITEM sources ${KLAB_HOME}/${folder}/main.cpp ${KLAB_HOME}/${folder}/anchor.cpp)
    # Object libraries, because the linker drops self-registering code that nothing names from a static library.
    add_library(${target} OBJECT ${sources})
    set(scope PUBLIC)
  endif()
  add_library(klab::${name} ALIAS ${target})
  target_link_libraries(${target} ${scope} klab_flags klab_harness_dependencies ${room_DEPENDS})
  klab_room_headers(${target} ${folder} ${KLAB_HOME})
  if(folder MATCHES "^harness/")
    set_property(GLOBAL APPEND PROPERTY klab_rooms ${target})
  endif()
  if(KLAB_INSTALLED)
    return()
  endif()
  if(room_TOGETHER OR room_COMMANDS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    foreach(source IN LISTS sources)  # Highway's macros are those of one file, whose loops are measured
      file(STRINGS ${source} lines REGEX "^#include [<\"]hwy/" LIMIT_COUNT 1)
      if(lines)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
        if(NOT KLAB_ASAN AND NOT room_LIGHT AND NOT room_COMMANDS)
          set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")
        endif()
      endif()
    endforeach()
  endif()
  if(room_COMMANDS)
    klab_commands(${target})
  elseif(room_LIGHT)
    target_compile_options(${target} PRIVATE ${klab_lightly})
    target_precompile_headers(${target} REUSE_FROM klab_headers_light)
  else()
    target_compile_options(${target} PRIVATE ${klab_room_code})
    if(room_BETWEEN AND NOT KLAB_ASAN)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    elseif(NOT room_HOT AND NOT KLAB_ASAN)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
    endif()
    target_precompile_headers(${target} REUSE_FROM klab_headers)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # The same copies as in KlabFlags.cmake, seen where std::string comes from a precompiled header.
      target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
    endif()
  endif()
endfunction()

# klab_commands(<target> <rooms>...): how files that bring commands are compiled.
function(klab_commands target)
  target_link_libraries(${target} PUBLIC klab_flags klab_harness_dependencies ${ARGN})
  target_compile_options(${target} PRIVATE ${klab_lightly})
  target_precompile_headers(${target} REUSE_FROM klab_headers_commands)
endfunction()
add_library(klab_headers_commands OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/headers.cpp)
target_link_libraries(klab_headers_commands PRIVATE klab_flags klab_harness_dependencies)
target_compile_options(klab_headers_commands PRIVATE ${klab_lightly})
target_precompile_headers(klab_headers_commands PRIVATE <CLI/CLI.hpp> <fmt/format.h> <nlohmann/json.hpp>)

# Headers that most files of the harness include and that take longest to read, compiled once for each way to compile.
set(klab_lightly -Og CACHE INTERNAL "")
# Rooms that may stand in a library as well (KlabPrograms.cmake): one that is there when a program starts.
set(klab_room_code -fPIC -ftls-model=initial-exec -fno-semantic-interposition CACHE INTERNAL "")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/headers.cpp CONTENT "// Its headers are precompiled.\n")  # written when it differs only
foreach(way "" _light)
  add_library(klab_headers${way} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/headers.cpp)
  target_link_libraries(klab_headers${way} PRIVATE klab_flags klab_harness_dependencies)
  target_precompile_headers(klab_headers${way} PRIVATE <fmt/format.h> <nlohmann/json.hpp> <algorithm> <filesystem>
                            <functional> <map> <memory> <stdexcept> <string> <vector>)
endforeach()
target_compile_options(klab_headers_light PRIVATE ${klab_lightly})
target_compile_options(klab_headers PRIVATE ${klab_room_code})
