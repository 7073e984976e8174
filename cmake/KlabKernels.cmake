# klab_add_kernels(<folder> [NAME <name>] [LINK <libraries>...]): everything of a folder that is laid out as klab's own is,
# found by globbing: adding a variant, an op, a lab is adding a file.
#
#   reference/<op>/<op>.{h,cpp}             contract and double reference
#   kernels/<op>/{cpu,cuda}/NN_rung.{cpp,cu}  variants; kernels/common/ holds headers that several take
#   labs/NN_name/{README.md,lab.cpp}        which ops it teaches, and how
#   labs/NN_name/commands/*.cpp             commands that it adds to the command line
#   labs/NN_name/train/*.cpp                computations of the commands
#
# Gives the program <name> with all of it, and for each lab without commands of its own the program labs/NN/<name> (target
# <name>_NN) with the ops of that lab only, so that a lab can be had without compiling the others. For `run` there is
# labs/NN/run/<name> (target <name>_NN_run) of every lab with ops: with that command only, it takes least to compile.
# LINK: libraries that labs and their commands use. Every file's path is checked: another form is an error.

# Fails for files that have no place in the layout, and ops that lack their reference.
function(klab_check_layout root)
  file(GLOB files RELATIVE ${root} ${root}/kernels/*/cpu/* ${root}/kernels/*/cuda/* ${root}/kernels/*/cpu/*/* ${root}/kernels/*/*.cpp
       ${root}/kernels/*/*.cu ${root}/kernels/*.cpp ${root}/kernels/*.cu)
  foreach(file IN LISTS files)
    if(IS_DIRECTORY ${root}/${file} OR file MATCHES "\\.(md|h|cuh)$" OR file MATCHES "^kernels/common/")
      continue()
    endif()
    if(NOT file MATCHES "^kernels/[a-z][a-z0-9_]*/(cpu/[0-9][0-9]_[a-z0-9_]+\\.cpp|cuda/[0-9][0-9]_[a-z0-9_]+\\.cu)$")
      message(FATAL_ERROR "${root}/${file}: a variant's path is its id, so it must be kernels/<op>/cpu/NN_rung.cpp or "
                          "kernels/<op>/cuda/NN_rung.cu with lower-case letters, digits and _")
    endif()
    string(REGEX REPLACE "^kernels/([^/]+)/.*" "\\1" op ${file})
    if(NOT EXISTS ${root}/reference/${op}/${op}.h)
      message(FATAL_ERROR "${root}/${file}: the op ${op} has no reference: expected its contract in "
                          "${root}/reference/${op}/${op}.h and its double reference in ${root}/reference/${op}/${op}.cpp")
    endif()
  endforeach()
  file(GLOB headers RELATIVE ${root} ${root}/reference/*/*.h)
  set(names)
  foreach(header IN LISTS headers)
    file(STRINGS ${root}/${header} lines REGEX "static constexpr (const char\\* |std::string_view |auto )name *= *\"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*\"([^\"]*)\".*" "\\1" name "${line}")
      if(name IN_LIST names)
        message(FATAL_ERROR "${root}/${header}: a second contract is called ${name}; the first is in "
                            "${root}/${header_of_${name}}. An op has one contract: rename one of them")
      endif()
      list(APPEND names ${name})
      set(header_of_${name} ${header})
    endforeach()
  endforeach()
endfunction()

# The ops of a lab: those whose contract its lab.cpp includes.
function(klab_ops_of_lab file out)
  file(STRINGS ${file} lines REGEX "^#include \"reference/")
  set(ops)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"reference/([^/\"]+)/.*" "\\1" op "${line}")
    list(APPEND ops ${op})
  endforeach()
  list(REMOVE_DUPLICATES ops)
  set(${out} ${ops} PARENT_SCOPE)
endfunction()

# klab_ops_behind(<out> <root> <ops>...): other ops of which these ops' contracts use more than a header: one includes reference/OTHER/NAME.h,
# and there is a NAME.cpp.
function(klab_ops_behind out root)
  set(open ${ARGN})
  set(behind)
  while(open)
    list(POP_FRONT open op)
    file(GLOB files CONFIGURE_DEPENDS ${root}/reference/${op}/*.h ${root}/reference/${op}/*.cpp)
    foreach(file IN LISTS files)
      file(STRINGS ${file} lines REGEX "^#include \"reference/[a-z0-9_]+/[^\"]+\\.h\"")
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "^#include \"reference/([^/\"]+)/([^\"]+)\\.h\".*" "\\1;\\2" names "${line}")
        list(GET names 0 other)
        list(GET names 1 header)
        if(EXISTS ${root}/reference/${other}/${header}.cpp AND NOT other IN_LIST ARGN AND NOT other IN_LIST behind)
          list(APPEND behind ${other})
          list(APPEND open ${other})
        endif()
      endforeach()
    endforeach()
  endwhile()
  set(${out} ${behind} PARENT_SCOPE)
endfunction()

# klab_program(<target> <folder of the program> <its name> ROOT <project> [HARNESS klab_everything|klab_run_only] OBJECTS <object libraries>...
#              OPS <prefix of the ops' targets> <ops>...)
function(klab_program target folder name)
  cmake_parse_arguments(PARSE_ARGV 3 program "" "HARNESS;ROOT" "OBJECTS;OPS")
  if(NOT program_HARNESS)
    set(program_HARNESS klab_everything)
  endif()
  list(POP_FRONT program_OPS prefix)
  add_executable(${target} $<TARGET_OBJECTS:klab_main>)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${folder} OUTPUT_NAME ${name})
  target_link_libraries(${target} PRIVATE ${program_HARNESS} ${program_OBJECTS})
  if(TARGET klab_mpi)
    add_dependencies(${target} klab_mpi)  # loaded where a launcher has started several processes
  endif()
  klab_ops_behind(behind ${program_ROOT} ${program_OPS})
  list(TRANSFORM behind PREPEND ${prefix}_reference_)
  foreach(objects IN LISTS behind)
    if(TARGET ${objects})
      target_link_libraries(${target} PRIVATE ${objects})
    endif()
  endforeach()
  set(plain)
  set(traced)
  foreach(op IN LISTS program_OPS)
    foreach(part reference kernels)
      if(TARGET ${prefix}_${part}_${op})
        target_link_libraries(${target} PRIVATE ${prefix}_${part}_${op})
      endif()
    endforeach()
    if(TARGET ${prefix}_cuda_${op})
      list(APPEND plain $<TARGET_OBJECTS:${prefix}_cuda_${op}>)
      list(APPEND traced $<TARGET_OBJECTS:${prefix}_cuda_traced_${op}>)
    endif()
  endforeach()
  if(NOT KLAB_CUDA_ON_HOST)
    return()
  endif()
  klab_cuda_host_module(${target}_cuda_host klab_cuda_host ${folder} ${plain})
  klab_cuda_host_module(${target}_cuda_host_traced klab_cuda_host_traced ${folder} ${traced})
  add_dependencies(${target} ${target}_cuda_host ${target}_cuda_host_traced)
endfunction()

# How accesses are watched are options of GCC. Built with another compiler klab has no CUDA variants on the host.
set(KLAB_CUDA_ON_HOST ON CACHE INTERNAL "")
if(KLAB_ASAN OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(KLAB_CUDA_ON_HOST OFF CACHE INTERNAL "")
endif()

# CUDA variants compiled for the host: every .cu twice, plain and with every access watched, in two shared objects that the
# program loads.

# klab_cuda_host_objects(<target> <traced: ON|OFF> <rooms> <files>...)
function(klab_cuda_host_objects target traced rooms)
  add_library(${target} OBJECT ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-x;c++")
  target_link_libraries(${target} PRIVATE ${rooms})
  klab_cuda_host_flags(${target} ${traced})
  set(headers klab_headers_cuda)
  if(traced)
    set(headers klab_headers_cuda_traced)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# Flags of CUDA code for the host, klab's kernels' and other programs'.
# Cached, since klab_add_kernels() also runs in the scope of a project that has klab as a folder.
set(klab_cuda_host_common -fno-plt -ffp-contract=off -fno-math-errno CACHE INTERNAL "")
# One access of the source is one of the object: nothing is vectorized, unrolled, duplicated (threading jumps, unswitching and
# splitting loops, reordering blocks all do) or merged with another. Checked are indexes beyond an array that still meet
# memory of the kernel: the next array, the next row.
set(klab_cuda_host_traced -O1 -fsanitize=thread --param=tsan-instrument-func-entry-exit=1 --param=tsan-distinguish-volatile=1
    -fsanitize-coverage=trace-pc -fno-tree-vectorize -fno-unroll-loops -fno-thread-jumps -fno-unswitch-loops -fno-split-loops
    -fno-crossjumping -fno-tree-tail-merge -fno-reorder-blocks -fno-reorder-blocks-and-partition -fsanitize=bounds-strict
    CACHE INTERNAL "")
# The branches are counted, so that a kernel that never ends is ended.
set(klab_cuda_host_plain -O2 -fsanitize-coverage=trace-pc CACHE INTERNAL "")

function(klab_cuda_host_flags target traced)
  # Hidden: an inline function that is instrumented here must not replace the program's own.
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                                             POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PRIVATE klab_flags)
  target_compile_definitions(${target} PRIVATE KLAB_SIMT=1)
  # nvcc knows #pragma unroll. GCC 12 sees copies beyond the end in std::string that are not there, as in KlabFlags.cmake.
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-unknown-pragmas -Wno-unused-function
                                           -Wno-pedantic -g1 ${klab_cuda_host_common})
  if(traced)
    target_compile_definitions(${target} PRIVATE KLAB_SIMT_TRACED=1)
    target_compile_options(${target} PRIVATE ${klab_cuda_host_traced})
  else()
    target_compile_options(${target} PRIVATE ${klab_cuda_host_plain})
  endif()
endfunction()

# klab_cuda_host_module(<target> <file name without lib and .so> <folder> <objects>...)
function(klab_cuda_host_module target name folder)
  add_library(${target} MODULE ${KLAB_HOME}/harness/simt/anchor.cpp ${ARGN})
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${folder} OUTPUT_NAME ${name} POSITION_INDEPENDENT_CODE ON
                                             CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# Where a short loop lies within a line of the instruction cache can decide its speed. Functions that begin on a line keep
# their loops in place, independent of the code before them: a variant is not slower because another one grew.
set(klab_kernel_code -falign-functions=64 CACHE INTERNAL "")

# klab_kernels_precompiled(<target> <files>...): the target's SIMD files take Highway from precompiled headers, which is most of their
# compile time, and the others the headers that every rung includes. Highway only with one instruction set: else a file includes it
# once for each.
function(klab_kernels_precompiled target)
  set(vectors OFF)
  if(klab_one_isa AND TARGET klab_headers_simd)
    set(vectors ON)
    target_precompile_headers(${target} REUSE_FROM klab_headers_simd)
  endif()
  # A target reuses one set of headers, so the second is included as CMake would.
  get_target_property(folder klab_headers_scalar BINARY_DIR)
  set(scalar_headers ${folder}/CMakeFiles/klab_headers_scalar.dir/cmake_pch.hxx)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_dependencies(${target} klab_headers_scalar)
  endif()
  foreach(file IN LISTS ARGN)
    file(STRINGS ${file} lines REGEX "^#include \"(hwy/foreach_target|kernels/common/simd).h\"" LIMIT_COUNT 1)
    if(NOT lines)
      set_property(SOURCE ${file} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
      if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -Winvalid-pch -include ${scalar_headers})
        set_property(SOURCE ${file} APPEND PROPERTY OBJECT_DEPENDS ${scalar_headers}.gch)
      endif()
    elseif(vectors AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Intrinsics that came precompiled have lost GCC's pragmas against these warnings.
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -Wno-maybe-uninitialized -Wno-uninitialized)
    endif()
  endforeach()
endfunction()

# klab_project_info(<name> <root>): the object library <name>_project with the commit of another project than klab, which its
# rows carry. Looked up at every build, as klab's own is (KlabBuildInfo.cmake).
function(klab_project_info name root)
  set(output ${PROJECT_BINARY_DIR}/generated/${name}_project.cpp)
  set(command ${CMAKE_COMMAND} -DKLAB_SOURCE=${root} -DKLAB_ANYWHERE=ON -DKLAB_OUTPUT=${output} -DKLAB_PROJECT=${name}
              -DKLAB_TEMPLATE=${KLAB_HOME}/cmake/project_info.cpp.in -P ${KLAB_HOME}/cmake/KlabBuildInfo.cmake)
  execute_process(COMMAND ${command})
  add_custom_target(${name}_project_info COMMAND ${command} BYPRODUCTS ${output} VERBATIM)
  add_library(${name}_project OBJECT ${output})
  target_link_libraries(${name}_project PRIVATE klab_flags klab::core)
  add_dependencies(${name}_project ${name}_project_info)
endfunction()

# klab_labs_of_ops(<labs> <their ops> <ops>...): the labs of klab that teach one of these ops, and all ops of these labs. A lab's table
# names the contracts of all its ops, and these need their references.
function(klab_labs_of_ops out_labs out_ops)
  file(GLOB tables CONFIGURE_DEPENDS ${KLAB_HOME}/labs/*/lab.cpp)
  set(labs)
  set(ops)
  foreach(table IN LISTS tables)
    klab_ops_of_lab(${table} ops_of_lab)
    foreach(op IN LISTS ops_of_lab)
      if(op IN_LIST ARGN)
        get_filename_component(lab ${table} DIRECTORY)
        get_filename_component(lab ${lab} NAME)
        list(APPEND labs ${lab})
        list(APPEND ops ${ops_of_lab})
        break()
      endif()
    endforeach()
  endforeach()
  set(${out_labs} ${labs} PARENT_SCOPE)
  set(${out_ops} ${ops} PARENT_SCOPE)
endfunction()

# klab_headers_of_ops(<name> <root>): the targets <name>_contracts_of_ops and <name>_kernel_headers, which let contracts and headers of
# kernels be included.
function(klab_headers_of_ops name root)
  add_library(${name}_contracts_of_ops INTERFACE)
  klab_room_headers(${name}_contracts_of_ops reference ${root})
  target_link_libraries(${name}_contracts_of_ops INTERFACE klab::contracts)
  add_library(${name}_kernel_headers INTERFACE)
  klab_room_headers(${name}_kernel_headers kernels ${root})
  target_link_libraries(${name}_kernel_headers INTERFACE ${name}_contracts_of_ops klab_common_headers)
endfunction()

# klab_op_objects(<name> <root> <op>): the object libraries <name>_reference_<op> and <name>_kernels_<op>, its rungs for the processor.
function(klab_op_objects name root op)
  file(GLOB sources CONFIGURE_DEPENDS ${root}/reference/${op}/*.cpp)
  if(sources)
    add_library(${name}_reference_${op} OBJECT ${sources})
    target_link_libraries(${name}_reference_${op} PRIVATE klab_flags ${name}_contracts_of_ops)
    set_target_properties(${name}_reference_${op} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    target_precompile_headers(${name}_reference_${op} REUSE_FROM klab_headers_contracts)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${root}/kernels/${op}/cpu/*.cpp ${root}/kernels/${op}/shared/*.cpp)
  if(sources)
    add_library(${name}_kernels_${op} OBJECT ${sources})
    target_link_libraries(${name}_kernels_${op} PRIVATE klab_flags klab_kernel_dependencies ${name}_kernel_headers klab_registrar)
    target_compile_options(${name}_kernels_${op} PRIVATE ${klab_kernel_code})
    klab_kernels_precompiled(${name}_kernels_${op} ${sources})
  endif()
endfunction()

# klab_lab_table(<name> <root> <lab>): the object library <name>_lab_<lab>, a lab's table of ops.
function(klab_lab_table name root lab)
  add_library(${name}_lab_${lab} OBJECT ${root}/labs/${lab}/lab.cpp)
  target_link_libraries(${name}_lab_${lab} PUBLIC klab_flags ${name}_contracts_of_ops klab::core)
  target_compile_options(${name}_lab_${lab} PRIVATE ${klab_lightly})
endfunction()

function(klab_add_kernels root)
  cmake_parse_arguments(PARSE_ARGV 1 kernels "" "NAME" "LINK")
  if(kernels_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "klab_add_kernels: unknown arguments ${kernels_UNPARSED_ARGUMENTS}; known are NAME and LINK")
  endif()
  get_filename_component(root ${root} ABSOLUTE)
  if(NOT IS_DIRECTORY ${root}/reference OR NOT IS_DIRECTORY ${root}/kernels OR NOT IS_DIRECTORY ${root}/labs)
    message(FATAL_ERROR "klab_add_kernels: ${root} must hold the folders reference, kernels and labs")
  endif()
  set(name klab)
  if(kernels_NAME)
    set(name ${kernels_NAME})
  endif()
  klab_check_layout(${root})
  # As klab's own files are compiled, whatever the project sets for its others: precompiled headers fit one dialect only.
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # read by `step`

  klab_headers_of_ops(${name} ${root})
  file(GLOB folders RELATIVE ${root}/reference CONFIGURE_DEPENDS ${root}/reference/*)
  set(ops)
  foreach(op IN LISTS folders)
    if(NOT IS_DIRECTORY ${root}/reference/${op})
      continue()
    endif()
    list(APPEND ops ${op})
    klab_op_objects(${name} ${root} ${op})
    file(GLOB sources CONFIGURE_DEPENDS ${root}/kernels/${op}/cuda/*.cu)
    if(sources AND KLAB_CUDA_ON_HOST)
      klab_cuda_host_objects(${name}_cuda_${op} OFF "${name}_kernel_headers;klab_cuda_rooms" ${sources})
      klab_cuda_host_objects(${name}_cuda_traced_${op} ON "${name}_kernel_headers;klab_cuda_rooms" ${sources})
    endif()
  endforeach()

  # A lab's table of ops waits for a person; its commands do, too.
  file(GLOB tables CONFIGURE_DEPENDS ${root}/labs/*/lab.cpp)
  set(project)
  if(NOT root STREQUAL KLAB_HOME)
    klab_project_info(${name} ${root})
    set(project ${name}_project)
  endif()
  set(all ${project})
  foreach(table IN LISTS tables)
    get_filename_component(lab ${table} DIRECTORY)
    get_filename_component(lab ${lab} NAME)
    klab_ops_of_lab(${table} ops_of_lab)
    file(GLOB commands CONFIGURE_DEPENDS ${root}/labs/${lab}/commands/*.cpp)
    file(GLOB own CONFIGURE_DEPENDS ${root}/labs/${lab}/train/*.cpp)
    set(target ${name}_lab_${lab})
    klab_lab_table(${name} ${root} ${lab})
    if(commands OR own)
      target_link_libraries(${target} PUBLIC ${kernels_LINK})
    endif()
    list(APPEND all ${target})
    if(own)
      add_library(${target}_train OBJECT ${own})
      target_link_libraries(${target}_train PUBLIC klab_flags ${name}_contracts_of_ops klab::core ${kernels_LINK})
      klab_room_headers(${target}_train labs/${lab} ${root})
      list(APPEND all ${target}_train)
    endif()
    if(commands)
      add_library(${target}_commands OBJECT ${commands})
      klab_commands(${target}_commands klab::cli ${kernels_LINK})
      set_target_properties(${target}_commands PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
      if(own)
        target_link_libraries(${target}_commands PUBLIC ${target}_train)
      endif()
      list(APPEND all ${target}_commands)
    endif()
    if(KLAB_ASAN)
      continue()  # tests/Sanitized.cmake links what is sanitized
    endif()
    string(REGEX REPLACE "_.*" "" number ${lab})
    set(programs)
    if(commands OR own OR NOT ops_of_lab)
      # Such a lab works with the others' ops: its program is the whole one.
      file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/labs/${number})
      file(CREATE_LINK ../../${name} ${PROJECT_BINARY_DIR}/labs/${number}/${name} SYMBOLIC)
      add_custom_target(${name}_${number})
      add_dependencies(${name}_${number} ${name})
    else()
      klab_program(${name}_${number} ${PROJECT_BINARY_DIR}/labs/${number} ${name} ROOT ${root} OBJECTS ${target} ${project} OPS ${name} ${ops_of_lab})
      list(APPEND programs ${name}_${number})
    endif()
    if(TARGET klab_run_only AND ops_of_lab)
      klab_program(${name}_${number}_run ${PROJECT_BINARY_DIR}/labs/${number}/run ${name} ROOT ${root} HARNESS klab_run_only
                   OBJECTS $<TARGET_OBJECTS:${target}>  # the table alone, without what the lab's own commands need
                   OPS ${name} ${ops_of_lab})
      list(APPEND programs ${name}_${number}_run)
    endif()
    foreach(program IN LISTS programs)
      set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL TRUE)
      if(KLAB_CUDA_ON_HOST)
        set_target_properties(${program}_cuda_host ${program}_cuda_host_traced PROPERTIES EXCLUDE_FROM_ALL TRUE)
      endif()
    endforeach()
  endforeach()

  # Everything but a main: link this and the whole registry comes along.
  add_library(${name}_all INTERFACE)
  target_link_libraries(${name}_all INTERFACE klab_everything)
  set(objects ${all} ${kernels_LINK})
  foreach(op IN LISTS ops)
    list(APPEND objects ${name}_reference_${op} ${name}_kernels_${op})
  endforeach()
  foreach(object IN LISTS objects)
    if(TARGET ${object})
      get_target_property(type ${object} TYPE)
      if(type STREQUAL OBJECT_LIBRARY)
        target_sources(${name}_all INTERFACE $<TARGET_OBJECTS:${object}>)
      else()
        target_link_libraries(${name}_all INTERFACE ${object})
      endif()
    endif()
  endforeach()
  target_link_libraries(${name}_all INTERFACE klab_kernel_dependencies ${name}_kernel_headers)
  if(KLAB_ASAN)
    return()  # tests/Sanitized.cmake links what is sanitized
  endif()
  klab_program(${name} ${PROJECT_BINARY_DIR} ${name} ROOT ${root} OBJECTS ${all} ${kernels_LINK} OPS ${name} ${ops})
  klab_cuda_device(${name} ${root})
endfunction()

include(KlabCuda)
