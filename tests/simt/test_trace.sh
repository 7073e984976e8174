#!/usr/bin/env bash
# klab trace as people use it: messages, their places, and refusals.
set -euo pipefail
klab=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
has() { grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "no \"$2\" in the output"; }; }
code() { local want=$1; shift; local got=0; "$@" >"$work/out" 2>"$work/err" || got=$?
  [[ $got -eq $want ]] || { cat "$work/out" "$work/err" >&2; fail "exit code $got, not $want: $*"; }; }

code 0 "$klab" trace transpose.cuda.01_naive --shape 256,256 --html "$work/page.html"
has "$work/out" "32.0 (4.0)"
has "$work/out" "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
has "$work/out" "02_shared_tile no longer does that: klab explain 03 cuda.02_shared_tile"
has "$work/out" "out["
grep -q $'\x1b' "$work/out" && fail "escape codes in a pipe"
for word in "<!DOCTYPE html>" "prefers-color-scheme: dark" "width=device-width" "32.0" "02_shared_tile"; do
  has "$work/page.html" "$word"
done
grep -Eq 'src="http|href="http' "$work/page.html" && fail "the page loads something"

code 0 "$klab" trace transpose.cuda.02 --shape 64,64 --json
python3 - "$work/out" <<'P' || fail "the JSON is not what it should be"
import json, sys
j = json.load(open(sys.argv[1]))
assert j["variant"] == "transpose.cuda.02_shared_tile" and j["shape"] == {"m": 64, "n": 64}
shared = [l for l in j["lines"] if l["access"] == "shared load"]
assert len(shared) == 1 and shared[0]["bank_conflicts"] == 31 * shared[0]["requests"]
assert j["hints"][0]["rung"] == "transpose.cuda.03_padded"
assert j["nsight"]["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"] == 4
P

# A GPU's own counters, as Nsight Compute writes them: here the host's counts, then a store that costs less.
code 0 "$klab" trace transpose.cuda.02 --shape 64,64 --metrics
metrics=$(tr ',' ' ' <"$work/out")
has "$work/out" "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
counters() {  # SECTORS of the stores: a file of Nsight Compute's, each launch's share of a metric on a line
  echo '==PROF== Connected to process 7 (klab)'
  echo 'transpose.cuda.02_shared_tile ran once on a GPU'
  echo '"ID","Kernel Name","Block Size","Metric Name","Metric Unit","Metric Value"'
  for m in $metrics; do
    value=128
    case $m in
      *requests*) value=128 ;;
      *sectors*_ld*) value=512 ;;
      *sectors*_st*) value=$1 ;;
      *wavefronts*_ld*) value='4,096' ;;
      *conflicts*_ld*) value='3,968' ;;
      *conflicts*_st* | *ldsm*) value=0 ;;
      *time*) value='9,999' ;;
    esac
    echo "\"0\",\"transpose(const float *, float *)\",\"(32, 32, 1)\",\"$m\",\"\",\"$value\""
  done
}
counters 512 >"$work/counters.csv"
code 0 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/counters.csv"
has "$work/out" "the GPU counted what the host counts"
counters 1024 >"$work/counters.csv"
code 1 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/counters.csv"
has "$work/out" "differs"
code 2 "$klab" trace transpose.cuda.01_naive --shape 64,64 --counters "$work/nothing.csv"
head -n 2 "$work/counters.csv" >"$work/headless.csv"
code 2 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/headless.csv"
has "$work/err" "no line names the columns"
head -c -9 "$work/counters.csv" >"$work/cut.csv"
code 2 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/cut.csv"
has "$work/err" "cut.csv:"
head -n 5 "$work/counters.csv" >"$work/few.csv"
code 2 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/few.csv"
has "$work/err" "few.csv holds no "
# Several variants in one profiler's run; the counters of the other and of another size are not this one's.
code 0 "$klab" trace transpose.cuda.01_naive transpose.cuda.02_shared_tile --metrics
has "$work/out" "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"
code 2 "$klab" trace transpose.cuda.01_naive transpose.cuda.02_shared_tile
has "$work/err" "one variant at a time"
printf 'variant,shape,%s\n' "${metrics// /,}" >"$work/kept.csv"
row=
for m in $metrics; do row+=,$(sed -n "s/.*\"$m\",\"\",\"\(.*\)\"/\1/p" "$work/counters.csv" | tr -d ,); done
printf 'transpose.cuda.02_shared_tile,m=64 n=64%s\n' "$row" >>"$work/kept.csv"
code 1 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/kept.csv"
has "$work/out" "differs"
code 2 "$klab" trace transpose.cuda.02 --shape 64,32 --counters "$work/kept.csv"
has "$work/err" "is about transpose.cuda.02_shared_tile at m=64 n=64, not at m=64 n=32"
code 2 "$klab" trace transpose.cuda.01_naive --shape 64,64 --counters "$work/kept.csv"
has "$work/err" "is about other variants than transpose.cuda.01_naive"
if [[ $("$klab" doctor --json) == *'"gpu": null'* ]]; then
  code 2 "$klab" trace transpose.cuda.02 --shape 64,64 --on-gpu
  has "$work/err" "cannot run on a GPU here: "
fi

code 2 "$klab" trace transpose.cuda.07_nothing
has "$work/err" "did you mean"
code 2 "$klab" trace transpose.cpu.01_naive
has "$work/err" "klab trace is for CUDA variants"
code 2 "$klab" trace transpose.cuda.01_naive --shape 5
has "$work/err" "--shape has 1 numbers but transpose takes 2 (m,n)"
code 2 "$klab" trace transpose.cuda.01_naive --shape=-1,5
code 2 "$klab" trace transpose.cuda.01_naive --gpu voodoo
has "$work/err" "no GPU is called 'voodoo'"
code 2 "$klab" trace transpose.cuda.01_naive --shape 32,32 --html "$work/nowhere/page.html"
code 2 "$klab" trace
code 0 "$klab" trace vector_add.cuda.01_one_each --shape 0
echo ok
