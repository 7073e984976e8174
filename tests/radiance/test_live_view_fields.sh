#!/usr/bin/env bash
# klab view of every kind of field: what it shows, and what is refused by name.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
"$klab" view none >out.txt 2>&1 || true
if grep -q 'built without' out.txt; then echo "SKIPPED: this klab was built without libcpp-httplib-dev"; exit 77; fi
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here: there is no browser to ask for pictures"; exit 77; }
echo '{"first_grid": 16, "grid": 32, "max_rows": 40000, "batch_samples": 8192, "sh_degree": 1}' >voxels.json
echo '{"initial": 800, "most": 1200, "sh_degree": 1}' >gaussians.json
echo '{"width": 16, "depth": 2, "skip": 1, "octaves": 4, "rays": 128, "coarse": 16, "fine": 16, "chunk": 2048}' >frequency.json
for field in voxels gaussians frequency; do
  steps=60
  [[ $field != frequency ]] || steps=40
  "$klab" train built-in --downscale 25 --field $field --config $field.json --threads 2 --plan last --steps $steps --metrics-every 0.05 --out $field >train.txt 2>&1 ||
    { cat train.txt; fail "cannot train $field"; }
  python3 "$here/live_view.py" "$klab" MODEL $field $field || exit 1
done
echo "ok"
