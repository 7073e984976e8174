#!/usr/bin/env bash
# ctest: slow
# Each function of CUDA's math API that a toolkit's headers declare can be called with the declared types.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
exec python3 "$here/math_api.py" "$build/klab-nvcc"
