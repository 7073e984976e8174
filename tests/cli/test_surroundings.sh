#!/usr/bin/env bash
# What a system may lack or refuse: a terminal that knows no escape codes, a narrow one, file locks, a folder to write to.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
cd "$tmp"
export KLAB_WORK=$tmp/work XDG_CACHE_HOME=$tmp/cache OMP_WAIT_POLICY=passive
count_failures

# On a terminal: `script` gives a command one. With TERM=dumb or none there are no escape codes; with xterm there are.
on_terminal() {  # TERM or "", columns, command...
  local term=$1 columns=$2; shift 2
  local setting="TERM=$term"
  [[ -n $term ]] || setting="-u TERM"
  script -qec "stty cols $columns; env -u NO_COLOR -u COLUMNS $setting $*" /dev/null </dev/null 2>/dev/null
}
if command -v script >/dev/null; then
  for term in dumb ""; do
    on_terminal "$term" 100 "$klab" check vector_add.cpu.01_scalar --quick >dumb.txt
    grep -q "1 ok" dumb.txt || { cat dumb.txt; fail "no check with TERM='$term'"; }
    grep -q $'\033' dumb.txt && { cat -v dumb.txt; fail "escape codes with TERM='$term'"; }
  done
  on_terminal xterm 100 "$klab" check vector_add.cpu.01_scalar --quick >xterm.txt
  grep -q $'\033' xterm.txt || { cat -v xterm.txt; fail "no progress on a terminal"; }
  # Nothing is wider than the terminal, colors not counted.
  for command in "step" "step 07" "step 01.02" "explain vector_add.cpu.02_simd"; do
    PAGER=cat on_terminal xterm 80 "$klab" $command >wide.txt
    sed 's/\x1b\[[0-9;]*[A-Za-z]//g; s/\r//g' wide.txt >plain.txt
    python3 -c '
import sys
wide = [l for l in open("plain.txt", encoding="utf-8").read().splitlines() if len(l) > 80]
sys.exit("\n".join(wide) or 0)' || fail "klab $command is wider than 80 columns"
  done
fi

# A file system without locks answers flock() with ENOSYS, ENOLCK or EPERM: a note, and the training goes on. Another owner is
# refused as before.
small='{"levels": 4, "log2_table": 10, "finest_resolution": 32, "batch_samples": 1024, "first_rays": 32, "grid": 16,
 "steps_per_diagonal": 64, "width": 16}'
echo "$small" >small.json
train=("$klab" train built-in --downscale 24 --config small.json --threads 1 --steps 2)
if command -v cc >/dev/null; then
  for error in ENOSYS ENOLCK EPERM EWOULDBLOCK; do
    printf '#include <errno.h>\nint flock(int file, int how) { (void)file; (void)how; errno = %s; return -1; }\n' $error >flock.c
    cc -shared -fPIC -o flock.so flock.c || { fail "cannot compile flock.c"; break; }
    code=0
    LD_PRELOAD=$tmp/flock.so "${train[@]}" --out "run_$error" >flock.txt 2>&1 || code=$?
    if [[ $error == EWOULDBLOCK ]]; then
      [[ $code -ne 0 ]] && grep -q "another klab" flock.txt || { cat flock.txt; fail "$error: another owner is not refused"; }
      break
    fi
    [[ $code -eq 0 && -e run_$error/result.json ]] || { cat flock.txt; fail "$error: the training did not go on"; }
    grep -q "cannot be locked here" flock.txt || { cat flock.txt; fail "$error: no note"; }
    train=("$klab" train built-in --downscale 24 --config small.json --threads 1 --steps 2 --plan "run_$error/plan.json")
  done
fi

# Where runs/ cannot be made, --out is named.
echo "a file" >runs
"${train[@]}" >refused.txt 2>&1 && fail "a training without a folder"
grep -q -- "runs: .*--out DIR" refused.txt || { cat refused.txt; fail "runs/ that cannot be made: no remedy"; }

# A work folder that cannot be written to.
KLAB_WORK=/proc/klab "$klab" step 01.02 >refused.txt 2>&1 && fail "a work folder in /proc"
grep -q "KLAB_WORK" refused.txt || { cat refused.txt; fail "a work folder in /proc: no remedy"; }
exit $((failures > 0))
