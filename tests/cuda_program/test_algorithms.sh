#!/usr/bin/env bash
# ctest: slow
# What docs/cuda-algorithms.md says of CUB's and Thrust's algorithms holds for two programs of them, a scan's and a sort's, and no public
# algorithm is missing.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
exec python3 "$here/algorithms.py" "$build/klab-nvcc" "$root/tests/programs/algorithms" "$root/docs/cuda-algorithms.md" \
  --only device_scan --only device_merge_sort
