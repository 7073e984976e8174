#!/usr/bin/env bash
# A training whose memory gets short in the middle: its limit on address space is lowered and raised again from outside.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
fail() { echo "FAILED: $*"; cat "$tmp"/*.txt 2>/dev/null | tail -60; exit 1; }
command -v prlimit >/dev/null || { echo "no prlimit here"; exit 0; }
cat >small.json <<'J'
{"levels": 4, "log2_table": 10, "finest_resolution": 64, "batch_samples": 16384, "first_rays": 64, "grid": 16,
 "steps_per_diagonal": 64, "width": 16, "grid_warmup": 16}
J
train=("$klab" train built-in --downscale 16 --config small.json --threads 1 --plan naive --no-eval --seconds 600)
wait_for() {  # words in a file, seconds
  for ((i = 0; i < 10 * $3; ++i)); do grep -q -- "$1" "$2" && return; kill -0 "$pid" 2>/dev/null || return 1; sleep 0.1; done
  return 1
}

"${train[@]}" --pressure 5:25 --out run >run.txt 2>&1 & pid=$!
trap 'kill -9 $pid 2>/dev/null || true; rm -rf "$tmp"' EXIT
wait_for '^step' run.txt 120 || fail "never took a step"
# A limit less than a hundredth above its present size is a shortage. A smaller batch frees memory.
size=$(awk '/VmSize/ { print $2 * 1024 }' /proc/$pid/status)
prlimit --pid $pid --as=$((size + size / 500)):unlimited
wait_for 'caches are dropped' run.txt 60 || fail "did not drop its caches"
wait_for 'a batch of 8192 samples instead of 16384' run.txt 60 || fail "did not halve its batch"
prlimit --pid $pid --as=unlimited:unlimited
wait_for 'a batch of 16384 samples instead of 8192' run.txt 120 || fail "did not grow back"
kill -INT $pid
rc=0; wait $pid || rc=$?
((rc == 130)) || fail "exit code $rc"
grep -q '"batches_shrunk": [1-9]' run/result.json || fail "the result does not count the smaller batches"
grep -q '"batches_grown": [1-9]' run/result.json || fail "the result does not count the larger batches"
batches=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "batch") c = i } NR > 1 { print $c }' run/metrics.csv | sort -un | tr '\n' ' ')
[[ $batches == "8192 16384 " ]] || fail "the metrics show batches of $batches"

# Off is off.
"${train[@]}" --pressure off --out off >off.txt 2>&1 & pid=$!
wait_for '^step' off.txt 120 || fail "never took a step"
size=$(awk '/VmSize/ { print $2 * 1024 }' /proc/$pid/status)
prlimit --pid $pid --as=$((size + size / 500)):unlimited
sleep 4
! grep -q 'caches are dropped' off.txt || fail "--pressure off is not heeded"
kill -INT $pid
wait $pid || true

for wrong in 5 25:5 x:y nan:5 5:5; do
  if "$klab" train built-in --pressure "$wrong" --out x >refused.txt 2>&1; then fail "accepted --pressure $wrong"; else rc=$?; fi
  ((rc == 2)) || fail "exit code $rc for --pressure $wrong"
  grep -q -- '--pressure must be' refused.txt || fail "the refusal of --pressure $wrong does not say what it must be"
done
echo fine
