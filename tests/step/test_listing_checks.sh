#!/usr/bin/env bash
# A faulty listing as a learner meets it: shown, answered wrongly and rightly, evidence, a repair that fails and one that passes.
# ctest: slow
set -uo pipefail
. "$(dirname "$0")/../common.sh"
cd "$tmp" || exit 2
export KLAB_WORK=$tmp/work XDG_CACHE_HOME=$tmp/cache NO_COLOR=1 OMP_WAIT_POLICY=passive KLAB_ROOT=$root
count_failures
try() {  # CODE TEXT ARGUMENTS...
  local want=$1 text=$2 code=0; shift 2
  "$klab" step "$@" >out.txt 2>&1 </dev/null || code=$?
  [[ $code == "$want" ]] || { tail -n 5 out.txt; fail "klab step $*: exit code $code"; }
  grep -q -e "$text" out.txt || { tail -n 5 out.txt; fail "klab step $*: '$text' is not printed"; }
}
if [[ ! -e $3/libklab_cuda_host.so ]]; then echo "skipped: no CUDA on the host"; exit 77; fi

try 0 '14.fault.01  find the fault' 14
try 0 'Written' 20.fault.01
file=$KLAB_WORK/20_scan_sort/fault_01.cu
grep -q FAULT "$file" && fail "the file shows its fault"
line=$(grep -n 'value = sums\[lane\];' "$file" | cut -d: -f1)
try 1 'neither' 20.fault.01 --answer "1:race"
try 1 'the kind is another' 20.fault.01 --answer "$line:race"
try 2 'LINE:KIND' 20.fault.01 --answer here
try 2 'kinds are' 20.fault.01 --answer "$line:luck"
try 0 'uninitialized' 20.fault.01 --evidence
try 1 'not yet' --check 20.fault.01
try 0 'Left: repair it' 20.fault.01 --answer "$line:uninitialized"
sed -i 's/value = sums\[lane\];/value = lane < kThreads \/ 32 ? sums[lane] : 0;/' "$file"
try 0 '20.fault.01 is done' --check 20.fault.01
try 0 'done' 20
try 0 '^+.*kThreads / 32' 20.fault.01 --solution
try 0 'kept' 20.fault.01 --restart
cmp -s "$file" "$file.old" && fail "--restart left the repaired file"
try 2 'no listing' 20.fault.09
try 2 'listings' 03.cuda.02 --answer 3:race
try 2 '--watch' 20.fault.01 --watch
[[ $failures -eq 0 ]] && echo ok
exit $((failures > 0))
