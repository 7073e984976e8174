#!/usr/bin/env bash
# Ten thousand mutated requests to the page of klab step.
# ctest: long
set -euo pipefail
klab=$1 root=$2
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here to send requests"; exit 77; }
tmp=$(mktemp -d)
trap 'kill -INT ${page:-} 2>/dev/null || true; rm -rf "$tmp"' EXIT
cd "$tmp"
export KLAB_ROOT=$root KLAB_WORK=$tmp/work NO_COLOR=1 OMP_WAIT_POLICY=passive
"$klab" step 03.cuda.02 --page >said.txt 2>&1 </dev/null & page=$!
for ((i = 0; i < 600; ++i)); do grep -q 'page  \|built without' said.txt && break; sleep 0.1; done
if grep -q 'built without' said.txt; then echo "SKIPPED: this klab was built without libcpp-httplib-dev"; exit 77; fi
address=$(sed -nE 's/^page +(http[^ ]*).*/\1/p' said.txt)
python3 -B "$here/mutated_requests.py" "$address" $page 10000 "" state trace steps/03.cuda.02.html lessons/03_transpose.html ||
  { cat said.txt; exit 1; }
echo "ok"
