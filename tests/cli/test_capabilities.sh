#!/usr/bin/env bash
# docs/capabilities.md is what its list makes, its options exist, and ten of its rows, others with each build, do what they say.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
export XDG_CACHE_HOME=$tmp/cache NO_COLOR=1 OMP_NUM_THREADS=2 KLAB_ROOT=$root KLAB_WORK=$tmp/work
list=$root/tests/cli/capabilities.py
diff -u "$root/docs/capabilities.md" <(python3 -B "$list" "$klab" page) || { echo "FAILED: docs/capabilities.md is not what $list page prints"; exit 1; }
python3 -B "$list" "$klab" options
cd "$tmp"
python3 -B "$list" "$klab" try 10
