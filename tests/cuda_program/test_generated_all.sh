#!/usr/bin/env bash
# ctest: long
# 500 generated programs in 20 files have no finding in ten orders of blocks, warps and lanes. The same programs with a fault each: at
# least 95 % are found at their line, and the output says of each other one why it was not, or that the reason is not known.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
source_dir=$2 build_dir=$3
[[ -x $build_dir/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
make=$source_dir/tests/cuda_program/make_programs.py check=$source_dir/tests/cuda_program/check_programs.py
failures=0
python3 "$make" "$tmp/right" --seed 1 --programs 500 --files 20 || exit 1
python3 "$check" "$tmp/right" --nvcc "$build_dir/klab-nvcc" --seeds 1,2,3,4,5,6,7,8,9,10 || failures=1
python3 "$make" "$tmp/faults" --seed 1 --programs 500 --files 20 --faults || exit 1
python3 "$check" "$tmp/faults" --nvcc "$build_dir/klab-nvcc" --faults --least 0.95 || failures=1
exit $failures
