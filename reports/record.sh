#!/usr/bin/env bash
# record.sh [--quick] [KLAB [FOLDER]]: one machine's record. Checks, sanitizes, times and profiles, and writes what was
# found into FOLDER/<machine>/ (default: reports/recorded/<machine>/ beside this file).
#
#   check.json       every variant against the reference; CUDA variants on the host, every access watched
#   counts/*.json    what each CUDA variant moves, counted on the host
#   gpu_check.json   CUDA variants on the GPU, each in a process of its own
#   sanitizer/*.txt  compute-sanitizer: memcheck, racecheck, synccheck, initcheck
#   rows.csv, .json  times of all ladders, with machine and ceilings
#   ncu/*.csv        Nsight Compute's counters, clocks left as they are
#   train/*.json     the trainer on the built-in scene: PSNR after a minute, and the share of each stage
#
# Without a GPU the steps that need one say what they would run, and why they do not. Exit code 0: what could be done was
# done; 1: a check failed; 2: bad input.
set -euo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd -P)
say() { printf 'record: %s\n' "$*" >&2; }
fail() { say "$@"; exit 2; }

quick=()
seconds=60  # of training
[[ ${1:-} == --quick ]] && { quick=(--quick); seconds=5; shift; }
[[ ${1:-} == -* ]] && fail "unknown option $1; usage: record.sh [--quick] [KLAB [FOLDER]]"
klab=${1:-}
if [[ -z $klab ]]; then
  for klab in "$here/../bin/klab" "$here/../build/cuda/klab" "$here/../build/release/klab"; do [[ -x $klab ]] && break; done
fi
[[ -x $klab ]] || fail "no program at $klab: build it (./klab doctor), or name it: record.sh path/to/klab"
"$klab" doctor --json >/dev/null || fail "$klab does not run here"
field() { sed -n 's/.*"'"$1"'": "\([^"]*\)".*/\1/p' | head -n 1; }  # of the JSON on standard input
doctor=$("$klab" doctor --json)
machine=$(field fingerprint <<<"$doctor")
[[ -n $machine ]] || fail "$klab doctor names no machine"
why=$(field gpu_missing <<<"$doctor")
out=${2:-$here/recorded}/$machine
mkdir -p "$out" 2>/dev/null || fail "cannot write to $out: name another folder, record.sh KLAB FOLDER"
printf '%s\n' "$doctor" >"$out/.doctor.json.new" && mv "$out/.doctor.json.new" "$out/doctor.json"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
keep() {  # FILE COMMAND...: the command's output becomes the file when it is complete; exit code 1 is a finding
  local file=$out/$1 code=0
  shift
  mkdir -p "$(dirname -- "$file")"
  say "$*"
  "$@" >"$file.new" 2>"$file.err" || code=$?
  if ((code > 1)); then
    say "exit code $code: $(tail -n 1 "$file.err")"
    rm -f "$file.new"
    failed=1
    return 0
  fi
  ((code == 0)) || failed=1
  rm -f "$file.err"
  mv "$file.new" "$file"
}
on_gpu() {  # as keep, where there is a GPU; else what it would be
  if [[ -n $why ]]; then say "without a GPU not run: ${*:2}"; else keep "$@"; fi
}
with_tool() {  # TOOL FILE COMMAND...
  if [[ -z $why ]] && ! command -v "$1" >/dev/null; then say "$1 is not installed (CUDA toolkit): not run: ${*:3}"
  else on_gpu "${@:2}"; fi
}

[[ -n $why ]] && say "no GPU: $why"
keep check.json "$klab" check "${quick[@]}" --json
mapfile -t rungs < <("$klab" list --json | grep -o '"[a-z0-9_]*\.cuda\.[a-z0-9_]*"' | tr -d '"' | sort -u)
((${#rungs[@]} > 0)) || fail "$klab knows no CUDA variant"
for rung in "${rungs[@]}"; do keep "counts/$rung.json" "$klab" trace "$rung" --json; done

on_gpu gpu_check.json "$klab" check --backend cuda --apart --json
for tool in memcheck racecheck synccheck initcheck; do
  with_tool compute-sanitizer "sanitizer/$tool.txt" compute-sanitizer --tool "$tool" --error-exitcode 1 \
    "$klab" check --backend cuda --quick --json
done
say "$klab bench ${quick[*]} --out rows.csv"
"$klab" bench "${quick[@]}" --out "$out/rows.csv" >"$out/bench.txt" 2>&1 || { failed=1; say "$(tail -n 1 "$out/bench.txt")"; }
for rung in "${rungs[@]}"; do
  with_tool ncu "ncu/$rung.csv" ncu --clock-control none --csv --set full --target-processes all \
    "$klab" check "$rung" --backend cuda --quick --json
done
say "$klab train built-in --seconds $seconds"
if "$klab" train built-in --seconds "$seconds" --out "$tmp/trained" >"$tmp/train.txt" 2>&1; then
  mkdir -p "$out/train"
  cp "$tmp/trained/result.json" "$out/train/.new" && mv "$out/train/.new" "$out/train/1_built_in_$seconds.json"
else
  failed=1
  say "$(tail -n 1 "$tmp/train.txt")"
fi
say "the record is in $out"
exit $failed
