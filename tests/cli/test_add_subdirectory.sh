#!/usr/bin/env bash
# A project outside this tree that takes klab as a folder, with add_subdirectory(): its files get klab's build type, dialect,
# watched flags and precompiled headers without any setting in the project, and no warnings as errors. klab::radiance is there as
# well: it links with the objects that the build of klab has, and is compiled for programs that link it only.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
source_dir=$2 build_dir=$3

cp -r "$source_dir/examples/own_kernels" "$tmp/project"
cd "$tmp/project"
sed -i "s|^find_package(klab.*|add_subdirectory($source_dir klab)|" CMakeLists.txt
cat >>CMakeLists.txt <<C
add_executable(train_a_scene EXCLUDE_FROM_ALL $source_dir/examples/train_a_scene/main.cpp)
target_link_libraries(train_a_scene PRIVATE klab::radiance)
add_executable(with_rooms EXCLUDE_FROM_ALL $source_dir/examples/train_a_scene/main.cpp)
target_link_libraries(with_rooms PRIVATE klab::everything klab::radiance)
C
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build_dir/CMakeCache.txt")
must configure cmake -S . -B build -G Ninja -DCMAKE_CXX_COMPILER="$compiler"
grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release' build/CMakeCache.txt || fail "the build type is not klab's default"

python3 - build/compile_commands.json "$tmp/project" <<'END' || fail "flags of the project's files"
import json, sys
commands = [c["command"] for c in json.load(open(sys.argv[1])) if c["file"].startswith(sys.argv[2] + "/")]
cuda = [c for c in commands if ".cu.o" in c]
watched = [c for c in cuda if "-DKLAB_SIMT_TRACED=1" in c]
plain = [c for c in cuda if c not in watched]
assert len(watched) == len(plain) == 2, (len(watched), len(plain))
for c in commands:
    assert "-std=c++20" in c and "-std=gnu++20" not in c, c
    assert "-Werror" not in c, c
    assert "-O3" in c or "-O1" in c or "-O2" in c, c
for c in watched:
    assert "-fsanitize=thread" in c and "-fsanitize=bounds-strict" in c and "cmake_pch" in c, c
for c in plain:
    assert "-fsanitize-coverage=trace-pc" in c and "cmake_pch" in c, c
END
# One rung both ways, with the precompiled headers: they fit, or the compiler says so.
mapfile -t objects < <(ninja -C build -t targets all | sed -n 's/^\(.*own_cuda.*swiglu_fwd.*\.cu\.o\): .*/\1/p')
((${#objects[@]} == 2)) || fail "${#objects[@]} objects of one CUDA rung in place of 2"
must "compile a CUDA rung" ninja -j1 -C build "${objects[@]}"
grep -q "not used because" "$tmp/log" && { cat "$tmp/log"; fail "a precompiled header does not fit"; }

# klab::radiance. Compiling it takes minutes, so the two programs are linked with the objects of klab's own build, which must be the
# same ones.
objects_of() {  # build folder, prefix of klab's files in it: the objects in the library
  sed -n "s|^build ${2}libklab_radiance.a: [^ ]* ||p" "$1/build.ninja" | sed 's/ ||.*//; s/ | .*//' | tr ' ' '\n' |
    sed "s|^$2||; s/klab_trainer_/klab_/" | sort
}
objects_of build klab/ >"$tmp/here"
objects_of "$build_dir" "" >"$tmp/there"
(($(wc -l <"$tmp/here") > 100)) || fail "the library has $(wc -l <"$tmp/here") objects"
diff "$tmp/here" "$tmp/there" || fail "the library has other objects than in klab's own build"
ninja -C build -t inputs all >"$tmp/inputs"
grep -e klab_radiance -e klab_trainer "$tmp/inputs" && fail "the trainer is compiled for a project that does not link it"
for program in train_a_scene with_rooms; do
  must "compile $program" ninja -j1 -C build "CMakeFiles/$program.dir$source_dir/examples/train_a_scene/main.cpp.o"
  ninja -C build -t commands $program | tail -n 1 | sed "s| klab/| $build_dir/|g; s|,klab/|,$build_dir/|g" >"$tmp/link"
  doubled=$(tr ' ' '\n' <"$tmp/link" | grep '\.o$' | sort | uniq -d)
  [[ -z $doubled ]] || fail "$program is linked with objects twice: $doubled"
  (cd build && must "link $program" bash "$tmp/link") || exit 1
  code=0
  "build/$program" "$tmp/nowhere" >"$tmp/log" 2>&1 || code=$?
  [[ $code -eq 2 ]] && grep -q "no such folder or file for a scene" "$tmp/log" || { cat "$tmp/log"; fail "$program ended with $code"; }
done
echo "all as it should be"
