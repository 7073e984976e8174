#!/usr/bin/env bash
# The script that runs the queue of what waits for a GPU, with a stand-in for klab that says it has one: wrong rungs are not
# timed, the time is kept, and what was measured by then stays.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
count_failures
script=$root/reports/gpu_queue.sh

"$script" "$klab" "$tmp/none" >"$tmp/said" 2>"$tmp/err" || fail "exit code $? without a GPU"
if grep -q "no GPU" "$tmp/err"; then
  [[ $(grep -o '[a-z0-9_]*\.cuda\.[a-z0-9_]*' "$tmp/said" | sort -u | wc -l) -eq $("$klab" gpu-queue --plan | wc -l) ]] ||
    fail "the rungs it would time are not those of the queue"
  [[ ! -e $tmp/none ]] || fail "a folder was made without a GPU"
fi
"$script" --seconds soon "$klab" >/dev/null 2>&1; [[ $? -eq 2 ]] || fail "--seconds soon"
"$script" "$tmp/nothing" >/dev/null 2>"$tmp/err"; [[ $? -eq 2 ]] || fail "a program that is not there"

cat >"$tmp/klab" <<'K'
#!/usr/bin/env bash
case "$1 $2" in
  "doctor --json") printf '{\n  "fingerprint": "f00",\n  "gpu": "Some GPU"\n}\n' ;;
  "gpu-queue --plan") printf '%s\n' "matmul.cuda.02_a matmul.cuda.01_n 8 8 8" "matmul.cuda.03_b matmul.cuda.02_a 8 8 8" "axpy.cuda.02_c - 9" ;;
  "gpu-queue --sources") printf 'rung,code\nmatmul.cuda.02_a,aa\nmatmul.cuda.03_b,bb\naxpy.cuda.02_c,cc\n' ;;
  "gpu-queue --decide") echo "decided by $#" ;;
  "check matmul.cuda.03_b") echo "wrong value in c[0]"; exit 1 ;;
  check*) ;;
  bench*) echo "$*" >>"$FAKE"
    [[ $* != *axpy* || -z ${SLOW:-} ]] || sleep 30
    while [[ $# -gt 1 ]]; do [[ $1 == --out ]] && echo rows >"$2"; shift; done ;;
esac
K
chmod +x "$tmp/klab"
export FAKE=$tmp/benches
"$script" "$tmp/klab" "$tmp/out" >"$tmp/said" 2>/dev/null; [[ $? -eq 1 ]] || fail "a wrong rung does not end with 1"
grep -q "^bench matmul.cuda.02_a --backend cuda --quick --shape 8,8,8 " "$FAKE" || { cat "$FAKE"; fail "not timed at its size"; }
grep -q "03_b" "$FAKE" && fail "a wrong rung is timed"
grep -q "wrong on the GPU, not timed: matmul.cuda.03_b" "$tmp/out/f00/gpu_queue.txt" || fail "the wrong rung is not named"
grep -q "wrong value in c" "$tmp/said" || fail "what was wrong is not said"
[[ $(tr '\n' ' ' <"$tmp/out/f00/gpu_sources.csv") == "rung,code axpy.cuda.02_c,cc matmul.cuda.02_a,aa " ]] ||
  { cat "$tmp/out/f00/gpu_sources.csv"; fail "the code that was timed"; }
rm -rf "$tmp/out" "$FAKE"
begin=$SECONDS
SLOW=1 "$script" --seconds 8 "$tmp/klab" "$tmp/out" >"$tmp/said" 2>/dev/null
((SECONDS - begin < 20)) || fail "8 seconds took $((SECONDS - begin))"
[[ -s $tmp/out/f00/gpu_rows_queue_matmul_8_8_8.csv ]] || fail "what was measured before the end is lost"
grep -q "not timed: axpy.cuda.02_c\|not reached: *axpy.cuda.02_c" "$tmp/said" || { cat "$tmp/said"; fail "the rung that the time ended is not named"; }
exit $((failures > 0))
