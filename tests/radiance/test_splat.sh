#!/usr/bin/env bash
# klab splat as its users meet it: learns, writes a .ply, resumes from it, and refuses unreadable files.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
splat=("$klab" splat built-in --downscale 8 --plan last --initial 500 --degree 1)

"${splat[@]}" --steps 40 --out first.ply --pictures views >first.txt 2>&1 || { cat first.txt; fail "does not run"; }
grep -Eq '^PSNR +[0-9.]+ dB, SSIM' first.txt || { cat first.txt; fail "does not say how good it is"; }
has first.txt '^memory    at most [0-9.]+ [kMG]B for training 100000 Gaussians of degree 1'
grep -q '^protocol ' first.txt || fail "does not say its protocol"
grep -q ply <<<"$(head -c 3 first.ply)" || fail "writes no .ply"
[[ $(find views -name '*.png' | wc -l) -gt 0 ]] || fail "writes no pictures"

# From the file: as good at once, and better than where it began.
psnr() { grep -m 1 '"psnr"' "$1" | grep -o '[0-9.]*'; }
"${splat[@]}" --steps 1 --json >begin.json
"${splat[@]}" --steps 1 --start first.ply --json >again.json
[[ $(echo "$(psnr again.json) > $(psnr begin.json)" | bc -l 2>/dev/null || awk "BEGIN{print ($(psnr again.json) > $(psnr begin.json))}") == 1 ]] ||
  fail "what was learned is lost in the file"

# Relocation fills its budget, from a start that has fewer.
"$klab" splat built-in --downscale 16 --plan last --initial 100 --degree 0 --steps 1500 --relocate --budget 130 --json >relocated.json ||
  fail "--relocate does not run"
[[ $(grep -m 1 '"gaussians"' relocated.json | grep -o '[0-9]*') == 130 ]] || { cat relocated.json; fail "--relocate does not reach its budget"; }

# A preset gives way to --set, and both to options.
"${splat[@]}" --preset fast --set most=900 --set sh_degree=2 --steps 1 --json >preset.json || fail "--preset does not run"
[[ $(grep -m 1 '"gaussians"' preset.json | grep -o '[0-9]*') == 500 ]] || { cat preset.json; fail "--initial does not replace that of a preset"; }
"$klab" splat built-in --downscale 16 --plan last --preset fast --set initial=300 --steps 1 >preset.txt 2>&1 || { cat preset.txt; fail "--set with --preset"; }
has preset.txt '^preset    fast: 12 s, initial=10000 most=30000'
has preset.txt '^start     300 Gaussians'

# By CUDA rungs, on the host executor.
"$klab" splat built-in --downscale 25 --plan naive --initial 40 --degree 1 --steps 2 --backend simt --out simt.ply >simt.txt 2>&1 ||
  { cat simt.txt; fail "does not run on the executor"; }
grep -q '^trained   2 steps' simt.txt || { cat simt.txt; fail "does not say what was trained on the executor"; }
grep -q ply <<<"$(head -c 3 simt.ply)" || fail "writes no .ply on the executor"

refused() {  # words of the message, then the command
  local words=$1 code=0
  shift
  "$@" >out.txt 2>err.txt || code=$?
  [[ $code == 2 ]] || { cat out.txt err.txt; fail "exit code $code for $*"; }
  grep -q "$words" err.txt || { cat err.txt; fail "does not say '$words'"; }
  [[ $(wc -l <err.txt) -le 3 ]] || { cat err.txt; fail "more than a line or two"; }
}
head -c 5000 first.ply >cut.ply
refused 'announces' "${splat[@]}" --start cut.ply
refused 'no .ply file' "${splat[@]}" --start first.txt
refused 'nowhere' "${splat[@]}" --out nowhere/at/all.ply
refused 'number from' "${splat[@]}" --seconds nan
refused 'must be one of: fast, standard, best' "${splat[@]}" --preset slow
refused 'most.*from 1 to' "${splat[@]}" --set most=0
refused '"levels".*--field hash' "${splat[@]}" --set levels=4
limited() { (ulimit -v 8000000 && "${splat[@]}" --most 100000000); }
refused 'memory' limited
# A file that is larger than the memory is refused before it is read. It takes no room on the disk.
large() {
  { head -c 2000 first.ply | sed '/^end_header/q' | sed 's/^element vertex .*/element vertex 8000000/'; } >large.ply
  truncate -s 2000000000 large.ply
  (ulimit -v 4000000 && "${splat[@]}" --start large.ply)
}
refused 'reading large.ply needs about 6.0 GB' large
echo passed
