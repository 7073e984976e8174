#!/usr/bin/env bash
# A project outside this tree that takes klab as a folder, with add_subdirectory(): its files get klab's build type, dialect,
# watched flags and precompiled headers without any setting in the project, and no warnings
# as errors.
set -uo pipefail
source_dir=$2 build_dir=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
must() { local what=$1; shift; "$@" >"$tmp/log" 2>&1 || { tail -n 30 "$tmp/log"; fail "$what"; }; }

cp -r "$source_dir/examples/own_kernels" "$tmp/project"
cd "$tmp/project"
sed -i "s|^find_package(klab.*|add_subdirectory($source_dir klab)|" CMakeLists.txt
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
echo "all as it should be"
