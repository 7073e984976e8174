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
#
# Without a GPU the steps that need one say what they would run, and why they do not. Exit code 0: what could be done was
# done; 1: a check failed; 2: bad input.
set -euo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd -P)
say() { printf 'record: %s\n' "$*" >&2; }
fail() { say "$@"; exit 2; }

quick=()
[[ ${1:-} == --quick ]] && { quick=(--quick); shift; }
[[ ${1:-} == -* ]] && fail "unknown option $1; usage: record.sh [--quick] [KLAB [FOLDER]]"
klab=${1:-}
if [[ -z $klab ]]; then
  for klab in "$here/../bin/klab" "$here/../build/cuda/klab" "$here/../build/release/klab"; do [[ -x $klab ]] && break; done
fi
[[ -x $klab ]] || fail "no program at $klab: build it (./klab doctor), or name it: record.sh path/to/klab"
"$klab" doctor --json >/dev/null || fail "$klab does not run here"
field() { python3 -c "import json,sys; v=json.load(sys.stdin)
for k in '$1'.split('.'): v = v.get(k) if isinstance(v, dict) else None
print('' if v is None else v)"; }
command -v python3 >/dev/null || fail "python3 is needed to read what klab says"
doctor=$("$klab" doctor --json)
machine=$(field machine.fingerprint <<<"$doctor")
[[ -n $machine ]] || fail "$klab doctor names no machine"
why=$(field gpu_missing <<<"$doctor")
out=${2:-$here/recorded}/$machine
mkdir -p "$out" 2>/dev/null || fail "cannot write to $out: name another folder, record.sh KLAB FOLDER"
printf '%s\n' "$doctor" >"$out/.doctor.json.new" && mv "$out/.doctor.json.new" "$out/doctor.json"

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
mapfile -t rungs < <("$klab" list --json | python3 -c "
import json, sys
def walk(v):
    if isinstance(v, dict):
        for k in ('id', 'variant'):
            if isinstance(v.get(k), str) and '.cuda.' in v[k]: print(v[k])
        for x in v.values(): walk(x)
    elif isinstance(v, list):
        for x in v: walk(x)
walk(json.load(sys.stdin))" | sort -u)
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
say "the record is in $out"
exit $failed
