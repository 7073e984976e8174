#!/usr/bin/env bash
# The second compiler: Clang reads the rooms at the bottom of the harness and a sample of kernels, warnings are errors. It
# only reads them, which takes a minute of processor time; ./klab clang compiles everything.
# ctest: slow
set -euo pipefail
cd "$2"
command -v clang++ >/dev/null || { echo "skipped: clang++ is not installed (package clang)"; exit 77; }
command -v ninja >/dev/null || { echo "skipped: ninja is not installed (package ninja-build)"; exit 77; }
echo '#include <omp.h>' | clang++ -fopenmp=libomp -fsyntax-only -x c++ - 2>/dev/null ||
  { echo "skipped: Clang's OpenMP is not installed (package libomp-dev)"; exit 77; }
build=$3/clang_syntax
# A build type of its own, so that what CMake itself tries to compile and link is not only read.
cmake --preset clang -B "$build" -DCMAKE_BUILD_TYPE=Syntax -DCMAKE_CXX_FLAGS_SYNTAX=-fsyntax-only \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
targets=(klab_core klab_simt klab_check klab_timing klab_kernels_matmul klab_kernels_sh_fwd klab_kernels_adam klab_reference_adam)
# Nothing is written, so that each call reads all of them.
ninja -C "$build" -k 0 "${targets[@]}" >"$build.log" 2>&1 || { grep -A6 'error:' "$build.log" | head -60; exit 1; }
grep -q 'Building CXX' "$build.log" || { echo "nothing was read"; cat "$build.log"; exit 1; }
