#!/usr/bin/env bash
# Pages in headless Chromium: that of klab view shows a model, and says so when its trainer was killed; sliders and cameras of a report.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
command -v chromium >/dev/null && command -v python3 >/dev/null || { echo "SKIPPED: no chromium or no python3 here: the page was not opened"; exit 77; }
in_own_folder
"$klab" view none >out.txt 2>&1 || true
if grep -q 'built without' out.txt; then echo "SKIPPED: this klab was built without libcpp-httplib-dev"; exit 77; fi
cat >small.json <<'J'
{"levels": 5, "log2_table": 12, "finest_resolution": 96, "batch_samples": 4096, "first_rays": 64, "grid": 32,
 "steps_per_diagonal": 96, "width": 16}
J
"$klab" train built-in --downscale 16 --config small.json --threads 2 --plan last --steps 120 --metrics-every 0.05 --out run >train.txt 2>&1 ||
  { cat train.txt; echo "FAILED: cannot train"; exit 1; }
python3 "$here/live_view.py" "$klab" PAGE run
"$klab" report --train run -o report.html >report.txt || { cat report.txt; echo "FAILED: no report"; exit 1; }
python3 "$here/live_view.py" "$klab" REPORT report.html
