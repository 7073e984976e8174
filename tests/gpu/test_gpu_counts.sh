#!/usr/bin/env bash
# klab counts --gpu: the host's counts next to those that a GPU's profiler took of the same calls. Rungs whose counts are the same to the
# digit stay so: lanes that leave loops by themselves, atomics, scattered and coalesced accesses, matrices.
set -euo pipefail
klab=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; cat "$work/out" "$work/err" >&2; exit 1; }
code() { local want=$1; shift; local got=0; "$@" >"$work/out" 2>"$work/err" || got=$?
  [[ $got -eq $want ]] || fail "exit code $got, not $want: $*"; }
has() { grep -qF -- "$2" "$1" || fail "no \"$2\" in $1"; }

record=$root/reports/recorded/eaed8156ea8a83c7
rungs=(gs_rasterize_fwd gs_rasterize_bwd hashgrid_bwd.cuda.01_float_atomics clip_norm.cuda.01_atomic_sum transpose.cuda.0[1-4]_*
  composite_fwd.cuda.01_serial round_narrow ray_march.cuda.03_two_pass_scan mlp_bwd.cuda.01_layer_by_layer matmul.cuda.01_naive matmul.cuda.02_coalesced)
code 0 "$klab" counts "${rungs[@]}" --gpu "$record/gpu_counters.csv" --check
has "$work/out" "16 of 16 rungs count the same as the GPU to the digit"
has "$work/out" "None of 16 took less than the least time"

# A record that differs, one whose shape cannot be read, one that is cut.
cp "$record"/gpu_agreement.csv "$record"/gpu_counters.csv "$record"/machine.json "$work"
awk -F, -v OFS=, 'NR == 1 {for (i = 1; i <= NF; ++i) if ($i == "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") at = i}
  $1 == "transpose.cuda.01_naive" {$at += 1} {print}' "$record/gpu_counters.csv" >"$work/gpu_counters.csv"
sed -i 's/^\(transpose.cuda.02_shared_tile,m=\)[0-9]*/\1x/' "$work/gpu_counters.csv"
code 1 "$klab" counts transpose --gpu "$work/gpu_counters.csv" --check
has "$work/out" "1 rungs cannot be counted on the host."
grep -Eq 'transpose.cuda.01_naive +global load requests +[0-9]+ +[0-9]+ +1$' "$work/out" || fail "does not show what differs"
has "$work/out" "That is not what $work/gpu_agreement.csv says"
code 0 "$klab" counts --gpu "$work/gpu_counters.csv" --markdown
has "$work/out" "| rung | count that differs | host | GPU | ratio |"
head -n 3 "$record/gpu_counters.csv" | head -c -40 >"$work/cut.csv"
code 2 "$klab" counts transpose --gpu "$work/cut.csv"
has "$work/err" "cells under"
code 2 "$klab" counts vector_add --gpu "$work/nothing.csv"
code 2 "$klab" counts transpose --gpu "$record/gpu_counters.csv" --accept
has "$work/err" "--accept takes all rungs of a record"
code 2 "$klab" counts transpose --markdown
echo ok
