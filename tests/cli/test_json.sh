#!/usr/bin/env bash
# Every command with --json has a schema, and what the cheap ones print, of good and of failing results, is what it says, key by key. The others:
# test_json_all.sh.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
cd "$tmp"
export KLAB_ROOT=$root KLAB_WORK=$tmp/work XDG_CACHE_HOME=$tmp/cache NO_COLOR=1 COLUMNS=160 OMP_WAIT_POLICY=passive PYTHONPATH=$root/tests/cli
python3 -B "$root/tests/cli/json_outputs.py" "$klab" "$root" list,quick
