#!/usr/bin/env bash
# klab step --page: who is let in, the page of the step, and the answer, which changes when the file is saved; a CUDA step's counts
# and trace; refusals.
set -uo pipefail
klab=$1 root=$2
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'kill -INT ${page:-} 2>/dev/null; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 2
export KLAB_ROOT=$root KLAB_WORK=$tmp/work NO_COLOR=1 OMP_WAIT_POLICY=passive
fail() { echo "FAILED: $*"; exit 1; }
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here to ask for the page"; exit 77; }

refused() {  # pattern, command...: exit code 2 and one line
  local pattern=$1 code=0
  shift
  "$@" >out.txt 2>said.txt </dev/null || code=$?
  [[ $code == 2 && $(wc -l <said.txt) == 1 ]] && grep -q -e "$pattern" said.txt || { cat out.txt said.txt; fail "exit code $code, not refused with \"$pattern\": $*"; }
}
refused "--page 70000: is no port from 1 to 65535" "$klab" step 03.cuda.02 --page 70000
refused "--page 03.cuda.02: is no port.*before --page" "$klab" step --page 03.cuda.02
refused "14.fault.01 is a listing" "$klab" step 14.fault.01 --page

work=$KLAB_WORK/03_transpose/02.cu
mkdir -p "${work%/*}"
echo 'int broken(' >"$work"
"$klab" step 03.cuda.02 --page >said.txt 2>&1 </dev/null & page=$!
for ((i = 0; i < 600; ++i)); do grep -q 'page  \|built without' said.txt && break; sleep 0.1; done
if grep -q 'built without' said.txt; then
  code=0; wait $page || code=$?
  [[ $code == 2 && $(wc -l <said.txt) == 1 ]] && grep -q 'libcpp-httplib-dev' said.txt || { cat said.txt; fail "does not say what is missing"; }
  echo "SKIPPED: this klab was built without libcpp-httplib-dev"
  exit 77
fi
address=$(sed -nE 's/^page +(http[^ ]*).*/\1/p' said.txt)
[[ $address =~ ^http://127.0.0.1:[0-9]+/[0-9a-f]{32}/$ ]] || { cat said.txt; fail "no address"; }
python3 "$here/step_page.py" "$address" "$work" "$root/kernels/transpose/cuda/02_shared_tile.cu" || { cat said.txt; fail "the page"; }
python3 -B "$here/../web/mutated_requests.py" "$address" $page 200 "" state trace steps/03.cuda.02.html lessons/03_transpose.html ||
  { cat said.txt; fail "mutated requests"; }
code=0
kill -INT $page && wait $page || code=$?
[[ $code == 0 ]] || { cat said.txt; fail "Ctrl-C: exit code $code"; }
grep -q 'compiles? *no' said.txt || { cat said.txt; fail "the terminal lacks the answers"; }
echo "all as it should be"
