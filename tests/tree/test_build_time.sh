#!/usr/bin/env bash
# The compile time of each room of the release build stays within its budget (see build_time.py), and the script that
# judges distinguishes logs that it can judge from others.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
root=$2 build=$3
for tool in python3 ninja; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
count_failures
script=$root/tests/tree/build_time.py
code=0 out=""
call() { out=$(python3 -B "$script" "$@" 2>&1); code=$?; }
expect() { [[ $code -eq $2 && $out == *"$3"* ]] || fail "$1: exit code $code: $out"; }

# A build of eight objects that take a second each; the CUDA file calibrates.
mkdir "$tmp/build"
objects=(CMakeFiles/klab_cuda_adam.dir/a.cu.o CMakeFiles/klab_kernels_adam.dir/a.cpp.o CMakeFiles/klab_kernels_adam.dir/b.cpp.o
  CMakeFiles/klab_reference_adam.dir/a.cpp.o harness/CMakeFiles/klab_core.dir/a.cpp.o labs/radiance/CMakeFiles/x.dir/a.cpp.o
  labs/learning/CMakeFiles/x.dir/a.cpp.o tests/CMakeFiles/test_a.dir/a.cpp.o)
{ printf 'rule cc\n  command = true\n'
  for object in "${objects[@]}"; do printf 'build %s: cc\n' "$object"; done
  printf 'build klab: cc %s\nbuild all: phony klab\n' "${objects[*]}"; } >"$tmp/build/build.ninja"
log() {  # [object=milliseconds]...: a log in which all others take a second
  local at=0 took object change
  printf '# ninja log v5\n'
  for object in "${objects[@]}"; do
    took=1000
    for change in "$@"; do [[ ${change%=*} != "$object" ]] || took=${change#*=}; done
    printf '%d\t%d\t%d\t%s\tabc\n' $at $((at + took)) $(((1000000 + at + took) * 1000000)) "$object"
    at=$((at + took))
  done
  # Two outputs of one command, which are one link.
  printf '%d\t%d\t%d\tklab\tabc\n%d\t%d\t%d\tlibklab.so\tabc\n' $at $((at + 500)) 9 $at $((at + 500)) 9
}
budget=$tmp/budget.csv
log >"$tmp/build/.ninja_log"
call "$tmp/build" --budget "$budget" --check
expect "no budget yet" 77 "holds no budget"
call "$tmp/build" --budget "$budget" --accept
expect "the first budget" 0 ""
grep -q '^kernels,2.000,' "$budget" || fail "two objects of a second are a ratio of 2: $(cat "$budget")"
grep -q '^links,0.500,' "$budget" || fail "a command with two outputs counts once: $(cat "$budget")"
call "$tmp/build" --budget "$budget" --check
expect "as accepted" 0 "kernels"

log CMakeFiles/klab_kernels_adam.dir/a.cpp.o=4000 >"$tmp/build/.ninja_log"
call "$tmp/build" --budget "$budget" --check
expect "a dearer room" 1 "over budget: kernels"
cp "$budget" "$tmp/before.csv"
call "$tmp/build" --budget "$budget" --accept
expect "a dearer room without a reason" 2 "say why"
cmp -s "$budget" "$tmp/before.csv" || fail "a refused budget was written"
call "$tmp/build" --budget "$budget" --accept --reason "vectors of eight ops"
expect "a dearer room with a reason" 0 ""
grep -q '^kernels,5.000,vectors of eight ops$' "$budget" || fail "the reason is not kept: $(cat "$budget")"
log >"$tmp/build/.ninja_log"
call "$tmp/build" --budget "$budget" --accept
expect "a cheaper room" 0 ""
grep -q '^kernels,2.000,$' "$budget" || fail "the budget does not fall: $(cat "$budget")"
# A machine of half the speed.
sed 's/\t/ /g' "$tmp/build/.ninja_log" | awk 'NR == 1 { print; next } { printf "%d\t%d\t%s\t%s\t%s\n", 2 * $1, 2 * $2, $3, $4, $5 }' >"$tmp/slow"
cp "$tmp/slow" "$tmp/build/.ninja_log"
call "$tmp/build" --budget "$budget" --check
expect "a slower machine" 0 "kernels"

log | sed '3d' >"$tmp/build/.ninja_log"
call "$tmp/build" --budget "$budget" --check
expect "an object that was never compiled" 77 "not a whole build"
{ log; log | sed -n 3p; } >"$tmp/build/.ninja_log"
call "$tmp/build" --budget "$budget" --check
expect "an object that was compiled again" 77 "more than once"
log | awk -F'\t' -v OFS='\t' 'NR == 5 { $3 = sprintf("%.0f", $3 + 7200e9) } { print }' >"$tmp/build/.ninja_log"
call "$tmp/build" --budget "$budget" --check
expect "objects of two days" 77 "different times"
for broken in '' 'no log' $'# ninja log v5\nnothing' $'# ninja log v5\n9\t1\t1\ta.o\tabc'; do
  printf '%s' "$broken" >"$tmp/build/.ninja_log"
  call "$tmp/build" --budget "$budget" --check
  expect "a broken log" 77 ".ninja_log"
done
rm "$tmp/build/.ninja_log"
call "$tmp/build" --budget "$budget" --check
expect "no log" 77 ".ninja_log"
printf 'room,ratio,reason\nkernels,many,\n' >"$budget"
call "$tmp/build" --budget "$budget" --check
expect "a broken budget" 1 "build_budget.csv:2"

# Budgets that grew in a commit without a reason.
if command -v git >/dev/null; then
  mkdir "$tmp/tree" && cd "$tmp/tree" && git init -q . || fail "git init"
  printf 'room,ratio,reason\nkernels,2.000,\n' >b.csv
  git add b.csv && git -c user.name=a -c user.email=a@b commit -q -m one || fail "git commit"
  printf 'room,ratio,reason\nkernels,3.000,\n' >b.csv
  call --history --budget "$tmp/tree/b.csv"
  expect "grown without a reason" 1 "kernels grew"
  printf 'room,ratio,reason\nkernels,3.000,eight new ops\n' >b.csv
  call --history --budget "$tmp/tree/b.csv"
  expect "grown with a reason" 0 ""
  printf 'room,ratio,reason\nkernels,1.000,\n' >b.csv
  call --history --budget "$tmp/tree/b.csv"
  expect "fallen" 0 ""
  rm b.csv
  call --history --budget "$tmp/tree/b.csv"
  expect "deleted" 1 "restore it"
  call --history --budget "$tmp/tree/never.csv"
  expect "never made" 0 "no budget yet"
fi
[[ $failures -eq 0 ]] || exit 1

# This build.
call --history
echo "$out"
[[ $code -eq 0 ]] || exit 1
call "$build" --check
echo "$out"
exit $code
