#!/usr/bin/env bash
# 25 generated programs have no finding, and the generator writes the same files again. test_generated_all.sh has the rest, and faults.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
source_dir=$2 build_dir=$3
[[ -x $build_dir/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
make=$source_dir/tests/cuda_program/make_programs.py check=$source_dir/tests/cuda_program/check_programs.py
python3 "$make" "$tmp/right" --programs 25 --files 1 || exit 1
python3 "$make" "$tmp/again" --programs 25 --files 1 || exit 1
cmp "$tmp/right/p00.cu" "$tmp/again/p00.cu" || exit 1
python3 "$check" "$tmp/right" --nvcc "$build_dir/klab-nvcc" --seeds 1,2
