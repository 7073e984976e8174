#!/usr/bin/env bash
# The plans that klab ships with are those of the records, made by reports/plans.sh; a first training takes them and says so.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
in_own_folder
export OMP_NUM_THREADS=1

KLAB=$klab PLANS=$tmp "$root/reports/plans.sh" >made.txt 2>&1 || { cat made.txt; fail "reports/plans.sh"; }
for file in "$root"/reports/plans/*.json; do
  cmp "$file" "${file##*/}" || fail "$file is not what reports/plans.sh makes of the records"
done

mkdir -p empty/train
if KLAB=$klab PLANS=$tmp "$root/reports/plans.sh" "$tmp/empty" >none.txt 2>&1; then fail "made a plan of nothing"; fi
has none.txt 'empty: has no machine.json'
echo '{"machine": {"instruction_set": "AVX2", "processor": "P", "threads": 1}}' >empty/machine.json
if KLAB=$klab PLANS=$tmp "$root/reports/plans.sh" "$tmp/empty" >none.txt 2>&1; then fail "made a plan of no training"; fi
has none.txt 'has no training with a plan'

# The most frequent rung counts; rungs of other backends, and those that this program does not have, do not.
run() { echo "{\"field\": \"hash\", \"backend\": \"$2\", \"plan\": {\"sh_fwd\": \"sh_fwd.cpu.$3\"}}" >"$1"; }
run a.json cpu 01_naive && run b.json cpu 04_threads && run c.json cpu 04_threads && run d.json simt 02_factored
run e.json cpu 99_gone && cp e.json f.json && cp e.json g.json
"$klab" results --plans empty/machine.json a.json b.json c.json d.json e.json f.json g.json >plan.json || fail "--plans"
has plan.json '"sh_fwd": "sh_fwd.cpu.04_threads"'
has plan.json '"machine": "P, 1 thread"'
! grep -q 'd.json' plan.json || fail "a run on another backend counts"
for wrong in "a.json a.json" "empty/machine.json d.json" "none.json a.json"; do
  if "$klab" results --plans $wrong >/dev/null 2>refused.txt; then fail "accepted: $wrong"; fi
  [[ $(wc -l <refused.txt) == 1 ]] || { cat refused.txt; fail "not one line for: $wrong"; }
done

set=$("$klab" doctor --json | sed -n 's/.*"instruction_set": "\([A-Z0-9_]*\)".*/\1/p' | head -n 1)
case $set in AVX2 | AVX3*) ;; *) echo "no plan for $set: nothing more to test here"; exit 0 ;; esac
train=("$klab" train built-in --downscale 16 --steps 1 --no-eval --memory 900MB)
"${train[@]}" --out first >first.txt 2>&1 || { cat first.txt; fail "no training"; }
has first.txt "^note      27 of 27 rungs are those that klab ships with; --plan best times all of them here, once"
has first.txt "^ +mlp_fwd +cpu\\.[0-9a-z_]+ +klab's for (AVX2|AVX3)"
# A plan that is given is taken; a resumed run keeps its own.
"${train[@]}" --plan last --out last >last.txt 2>&1 || { cat last.txt; fail "no training"; }
! grep -q 'klab ships with' last.txt || fail "another plan than the one that was asked for"
"$klab" train --resume first --steps 2 --no-eval >resumed.txt 2>&1 || { cat resumed.txt; fail "does not resume"; }
has resumed.txt 'of the checkpoint'
