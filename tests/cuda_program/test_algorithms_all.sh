#!/usr/bin/env bash
# ctest: long
# What docs/cuda-algorithms.md says of CUB's and Thrust's algorithms holds for all of them.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
exec python3 "$here/algorithms.py" "$build/klab-nvcc" "$root/tests/programs/algorithms" "$root/docs/cuda-algorithms.md"
