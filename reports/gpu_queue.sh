#!/usr/bin/env bash
# gpu_queue.sh [--seconds N] [KLAB [FOLDER]]: checks and times on this machine's GPU what reports/gpu_queue.csv lists, and says
# what that decides. Made for a GPU that is lent by the minute: it ends after N seconds (default 250), and what was measured by
# then is kept in FOLDER/<machine>/ (default: reports/recorded/<machine>/ next to this file):
#
#   gpu_rows_queue_OP_SIZES.csv   times, a rung and its parent, interleaved; with the time in the name where there are some
#   gpu_sources.csv               digests of the code that was timed
#   gpu_queue.txt                 what the rules decide, and which rungs were wrong or not reached
#
# The rules are fixed beforehand: a rung holds its prediction if the low end of its speedup's interval reaches it, does not if the
# high end stays below, and is undecided between. A rung that is wrong on the GPU is not timed. Without a GPU it prints what it
# would run. Exit code 0: done as far as the time went; 1: a rung is wrong; 2: bad input.
set -euo pipefail
export LC_ALL=C  # awk and printf read and write numbers with a point

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd -P)
say() { printf 'gpu_queue: %s\n' "$*" >&2; }
fail() { say "$@"; exit 2; }
most=250
while [[ ${1:-} == -* ]]; do
  case $1 in
    --seconds)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || fail "--seconds needs a whole number of seconds"
      most=$2
      shift
      ;;
    *) fail "unknown option $1; usage: gpu_queue.sh [--seconds N] [KLAB [FOLDER]]" ;;
  esac
  shift
done
klab=${1:-}
if [[ -z $klab ]]; then
  for klab in "$here/../bin/klab" "$here/../build/cuda/klab" "$here/../build/release/klab"; do [[ -x $klab ]] && break; done
fi
[[ -x $klab ]] || fail "no program at $klab: build it (./klab doctor), or name it: gpu_queue.sh path/to/klab"
klab=$(readlink -f -- "$klab")
doctor=$("$klab" doctor --json) || fail "$klab doctor does not run here"
field() { sed -n 's/.*"'"$1"'": "\([^"]*\)".*/\1/p' <<<"$doctor" | head -n 1; }
why=$(field gpu_missing)
plan=$("$klab" gpu-queue --plan) || fail "reports/gpu_queue.csv cannot be read"
[[ -n $plan ]] || { echo "nothing waits"; exit 0; }
# Rungs of one operation and size are timed in one call: a line of sizes, then rungs with those parents that wait, too.
groups=$(awk '{ op = $1; sub(/\..*/, "", op); sizes = ""; for (i = 3; i <= NF; i++) sizes = sizes (i > 3 ? "," : "") $i
               key = op " " sizes; if (!(key in rungs)) order[++n] = key; rungs[key] = rungs[key] " " $1 }
             END { for (i = 1; i <= n; i++) print order[i] rungs[order[i]] }' <<<"$plan")
if [[ -n $why ]]; then
  say "no GPU: $why"
  say "it would check and time:"
  while read -r op sizes rungs; do echo "$op at $sizes: $rungs"; done <<<"$groups"
  exit 0
fi

out=${2:-$here/recorded}/$(field fingerprint)
mkdir -p "$out" 2>/dev/null || fail "cannot write to $out: name another folder, gpu_queue.sh KLAB FOLDER"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$klab" gpu-queue --sources >"$tmp/sources"
code=0
left() { echo $((most - SECONDS)); }
while read -r op sizes rungs; do
  read -ra names <<<"$rungs"
  (($(left) > 5)) || { echo "not reached: $rungs" >>"$tmp/notes"; continue; }
  right=()
  for name in "${names[@]}"; do
    if timeout "$(left)" "$klab" check "$name" --backend cuda --quick >"$tmp/check" 2>&1; then right+=("$name")
    elif (($(left) > 0)); then { echo "wrong on the GPU, not timed: $name"; tail -n 20 "$tmp/check"; } >>"$tmp/notes"; code=1
    else echo "not reached: $name" >>"$tmp/notes"; fi
  done
  ((${#right[@]} > 0 && $(left) > 3)) || continue
  say "$op at $sizes: ${right[*]} ($(left) s left)"
  rows=$out/gpu_rows_queue_${op}_${sizes//,/_}.csv
  # Rows of an earlier run stay: they may be of other rungs.
  [[ ! -e $rows ]] || rows=${rows%.csv}_$(date -u +%Y%m%d_%H%M%S).csv
  if timeout "$(left)" "$klab" bench "${right[@]}" --backend cuda --quick --shape "$sizes" --out "$rows" >"$tmp/bench" 2>&1; then
    for name in "${right[@]}"; do grep "^$name," "$tmp/sources" >>"$tmp/timed" || true; done
  else
    { echo "not timed: ${right[*]}"; tail -n 5 "$tmp/bench"; } >>"$tmp/notes"
  fi
done <<<"$groups"

if [[ -s $tmp/timed ]]; then
  touch "$out/gpu_sources.csv"
  { echo "rung,code"; cat "$out/gpu_sources.csv" "$tmp/timed" | grep -v '^rung,code$' | sort -u; } >"$tmp/new"
  cp "$tmp/new" "$out/.gpu_sources.csv.new" && mv "$out/.gpu_sources.csv.new" "$out/gpu_sources.csv"
fi
mapfile -t rows < <(ls -t "$out"/gpu_rows_queue_*.csv 2>/dev/null)  # of a rung that was timed twice the newest rows decide
{ echo "$(field gpu), $(date -u +%F), $SECONDS s"
  ((${#rows[@]} == 0)) || "$klab" gpu-queue --decide "${rows[@]}"
  cat "$tmp/notes" 2>/dev/null || true; } | tee "$out/gpu_queue.txt"
exit $code
