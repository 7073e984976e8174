#!/usr/bin/env bash
# record.sh [--quick] [--only STEP,STEP] [KLAB [FOLDER]]: one machine's record. Checks, sanitizes, times and profiles, and
# writes what was found into FOLDER/<machine>/ (default: reports/recorded/<machine>/ next to this file). Its steps:
#
#   gpu_check        gpu_check.json: CUDA variants on the GPU, each in a process of its own
#   ncu              ncu/*.csv: Nsight Compute's counters of every CUDA variant, one call each, twenty in a process, clocks left
#                    as they are
#   gpu_bench        gpu_rows.csv: times of the CUDA ladders, by the GPU's events; --quick: of each ladder the largest size
#   gpu_train        train/*_cuda_*.json: the trainer on the GPU
#   sanitizer        sanitizer/*.txt: compute-sanitizer's memcheck, racecheck, synccheck, initcheck, an operation at a time
#   simt_train       train/*_simt_*.json: a small training by CUDA rungs on the host executor
#   counts           counts/*.json: what each CUDA variant moves, counted on the host; of what was profiled gpu_counters.csv, which
#                    keeps it, and gpu_agreement.csv, what the host counts of the same calls
#   check            check.json: every variant against the reference; CUDA variants on the host, every access watched
#   bench            rows.csv: times of all ladders, with ceilings; --quick: of the tour's
#   train            train/*.json: the trainer on the built-in scene, its PSNR after a minute, the share of each stage
#
# Without a GPU the steps that need one say what they would run, and why they do not. Exit code 0: what could be done was
# done; 1: a check failed or counts differ; 2: bad input.
set -euo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd -P)
say() { printf 'record: %s\n' "$*" >&2; }
fail() { say "$@"; exit 2; }

steps=(gpu_check ncu gpu_bench gpu_train sanitizer simt_train counts check bench train)
quick=()
seconds=60  # of training
only=
while [[ ${1:-} == -* ]]; do
  case $1 in
    --quick) quick=(--quick) seconds=5 ;;
    --only)
      [[ $# -ge 2 ]] || fail "--only needs steps: ${steps[*]}"
      only=,$2,
      shift
      ;;
    *) fail "unknown option $1; usage: record.sh [--quick] [--only STEP,STEP] [KLAB [FOLDER]]" ;;
  esac
  shift
done
for name in ${only//,/ }; do
  [[ " ${steps[*]} " == *" $name "* ]] || fail "--only: no step is called '$name'; there are ${steps[*]}"
done
step() { [[ -z $only || $only == *,$1,* ]]; }
klab=${1:-}
if [[ -z $klab ]]; then
  for klab in "$here/../bin/klab" "$here/../build/cuda/klab" "$here/../build/release/klab"; do [[ -x $klab ]] && break; done
fi
[[ -x $klab ]] || fail "no program at $klab: build it (./klab doctor), or name it: record.sh path/to/klab"
klab=$(readlink -f -- "$klab")
field() { sed -n 's/.*"'"$1"'": "\([^"]*\)".*/\1/p' | head -n 1; }  # of the JSON on standard input
doctor=$("$klab" doctor --json) || fail "$klab does not run here"
machine=$(field fingerprint <<<"$doctor")
[[ -n $machine ]] || fail "$klab doctor names no machine"
why=$(field gpu_missing <<<"$doctor")
out=${2:-$here/recorded}/$machine
mkdir -p "$out" 2>/dev/null || fail "cannot write to $out: name another folder, record.sh KLAB FOLDER"
printf '%s\n' "$doctor" >"$out/.machine.json.new" && mv "$out/.machine.json.new" "$out/machine.json"

tmp=$(mktemp -d)
export klab tmp
trap 'rm -rf "$tmp"' EXIT
failed=0
keep() {  # FILE COMMAND...: the command's output becomes the file when it is complete; exit code 1 is a finding
  local file=$out/$1 code=0
  shift
  mkdir -p "$(dirname -- "$file")"
  say "$*"
  "$@" >"$file.new" 2>"$file.err" || code=$?
  if ((code == 2)) && grep -q "cannot be counted here" "$file.err"; then
    say "$(tail -n 1 "$file.err")"
    rm -f "$file.new" "$file.err"
    return 0
  fi
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
mapfile -t rungs < <("$klab" list --json | grep -o '"id": "[a-z0-9_]*\.cuda\.[a-z0-9_]*"' | cut -d'"' -f4 | sort -u)
mapfile -t ops < <(printf '%s\n' "${rungs[@]%%.*}" | sort -u)
((${#rungs[@]} > 0)) || fail "$klab knows no CUDA variant"

# The GPU first: where it is lent by the minute, measurements that need it come before those of any machine.
step gpu_check && on_gpu gpu_check.json "$klab" check --backend cuda --apart "${quick[@]}" --json
known_metrics() {  # of those that klab asks for: one that the profiler does not know would end its run
  local known metric list=
  known=$(ncu --query-metrics 2>/dev/null || true)
  for metric in $("$klab" trace "${rungs[@]}" --metrics | tr , ' '); do
    if [[ -n $known && $metric =~ ^(l1tex|smsp|idc|dram|gpu)__ ]] && ! grep -q "^${metric%%.*} " <<<"$known"; then
      say "Nsight Compute does not know $metric here"
    else list+=${list:+,}$metric; fi
  done
  printf '%s' "$list"
}
if step ncu; then
  metrics=
  [[ -n $why ]] || ! command -v ncu >/dev/null || metrics=$(known_metrics)
  for ((i = 0; i < ${#rungs[@]}; i += 20)); do  # a few at a time: a run that is cut short says nothing of any
    with_tool ncu "ncu/$((i / 20)).csv" ncu --clock-control none --csv --print-units base --metrics "$metrics" \
      "$klab" trace "${rungs[@]:i:20}" --on-gpu
  done
fi
if step gpu_bench; then
  on_gpu gpu_rows.txt "$klab" bench --backend cuda ${quick[0]:+"${quick[@]}" --largest} --out "$out/gpu_rows.csv"
fi
sanitize() {  # TOOL OP: a line that says how it ended, and if it did not end well what was said last
  local code=0
  timeout 300 compute-sanitizer --tool "$1" --error-exitcode 9 --print-limit 20 \
    "$klab" check "$2" --backend cuda --quick --json >"$tmp/$1.$2" 2>&1 || code=$?
  case $code in
    0) echo "$2: clean" ;;
    124) echo "$2: not done after 300 s" ;;
    *) echo "$2: exit code $code"; tail -n 60 "$tmp/$1.$2" ;;
  esac
  return $((code == 0 ? 0 : 1))
}
export -f sanitize
train_run() {  # FILE OPTION...: a run's result.json becomes the file
  local file=$1
  shift
  say "$klab train built-in $*"
  rm -rf "$tmp/trained"
  if "$klab" train built-in "$@" --score all --out "$tmp/trained" >"$tmp/train.txt" 2>&1; then
    mkdir -p "$out/train"
    cp "$tmp/trained/result.json" "$out/train/.new" && mv "$out/train/.new" "$out/train/$file"
  else
    failed=1
    say "$(tail -n 1 "$tmp/train.txt")"
  fi
}
if step gpu_train; then
  if [[ -n $why ]]; then say "without a GPU not run: $klab train built-in --backend cuda --seconds $seconds"
  else train_run "1_built_in_cuda_$seconds.json" --backend cuda --seconds "$seconds"; fi
fi
if step sanitizer; then
  for tool in memcheck racecheck synccheck initcheck; do
    if [[ -n $why ]]; then say "without a GPU not run: compute-sanitizer --tool $tool $klab check OP --backend cuda --quick"
    elif ! command -v compute-sanitizer >/dev/null; then say "compute-sanitizer is not installed (CUDA toolkit): not run"
    else
      say "compute-sanitizer --tool $tool, ${#ops[@]} operations"
      mkdir -p "$out/sanitizer"
      printf '%s\n' "${ops[@]}" | xargs -P "$(nproc)" -I {} bash -c 'sanitize "$@"' _ "$tool" {} >"$out/sanitizer/$tool.new" || failed=1
      mv "$out/sanitizer/$tool.new" "$out/sanitizer/$tool.txt"
    fi
  done
fi
if step simt_train; then
  # The counts of a sample do not depend on the number of samples; the executor's time does.
  printf '%s\n' '{"levels": 4, "log2_table": 10, "finest_resolution": 64, "batch_samples": 256, "first_rays": 32,' \
    '"max_samples_per_ray": 64, "steps_per_diagonal": 48, "grid": 16}' >"$tmp/small.json"
  train_run "1_built_in_simt_50.json" --backend simt --config "$tmp/small.json" --downscale 8 --steps 50
fi
step counts && for rung in "${rungs[@]}"; do keep "counts/$rung.json" "$klab" trace "$rung" --json; done
profiled=("$out"/ncu/*.csv)
if step counts && [[ -s ${profiled[0]} ]]; then
  mkdir -p "$tmp/profiled"
  cp "$out/machine.json" "${profiled[@]}" "$tmp/profiled"
  keep gpu_counts.txt "$klab" counts --gpu "$tmp"/profiled/*.csv --accept
  mv "$tmp"/profiled/gpu_*.csv "$out" || failed=1
fi
step check && keep check.json "$klab" check "${quick[@]}" --json
if step bench; then
  # Quick: the tour, a size of each operation; else every size.
  if ((${#quick[@]} > 0)); then timing=("$klab" run --out "$out/rows.csv"); else timing=("$klab" bench --out "$out/rows.csv"); fi
  keep bench.txt env -C "$tmp" "${timing[@]}"  # the tour writes its page where it stands
fi
step train && train_run "1_built_in_$seconds.json" --seconds "$seconds"
say "the record is in $out"
exit $failed
