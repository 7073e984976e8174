#!/usr/bin/env bash
# Every row of docs/capabilities.md does what it says.
# ctest: long
set -euo pipefail
. "$(dirname "$0")/../common.sh"
export XDG_CACHE_HOME=$tmp/cache NO_COLOR=1 OMP_NUM_THREADS=2 KLAB_ROOT=$root KLAB_WORK=$tmp/work
cd "$tmp"
python3 -B "$root/tests/cli/capabilities.py" "$klab" try all
