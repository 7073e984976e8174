#!/usr/bin/env bash
# ctest: long
# JSON of the commands that take longer, and of files for other programs: it is what docs/schemas says (tests/cli/test_json.sh).
set -uo pipefail
. "$(dirname "$0")/../common.sh"
cd "$tmp"
export KLAB_ROOT=$root KLAB_WORK=$tmp/work XDG_CACHE_HOME=$tmp/cache NO_COLOR=1 COLUMNS=160 OMP_WAIT_POLICY=passive PYTHONPATH=$root/tests/cli
python3 -B "$root/tests/cli/json_outputs.py" "$klab" "$root" harness,trials,labs
