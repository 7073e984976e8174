#!/usr/bin/env bash
# Ten thousand mutated requests to klab view and to klab train --view.
# ctest: long
set -euo pipefail
. "$(dirname "$0")/../common.sh"
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here: there is no browser to ask for pictures"; exit 77; }
in_own_folder
"$klab" view none >out.txt 2>&1 || true
if grep -q 'built without' out.txt; then echo "SKIPPED: this klab was built without libcpp-httplib-dev"; exit 77; fi
echo '{"levels": 5, "log2_table": 12, "finest_resolution": 96, "batch_samples": 4096, "grid": 32, "steps_per_diagonal": 96, "width": 16}' >small.json
"$klab" train built-in --downscale 16 --config small.json --threads 2 --plan last --steps 60 --no-eval --out run >train.txt 2>&1 ||
  { cat train.txt; echo "FAILED: cannot train"; exit 1; }
python3 "$here/live_view.py" "$klab" MUTATED run 10000
