#!/usr/bin/env bash
# Tiles on machines that differ: checked on the model and never timed, skipped where the system refuses them, and named where asked
# for.
set -euo pipefail
klab=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() { echo "$*" >&2; exit 1; }
# Runs klab and keeps what it prints, on one line; its exit code is in $code.
ask() { code=0; "$klab" "$@" </dev/null >"$out/text" 2>&1 || code=$?; text=$(tr '\n' ' ' <"$out/text" | tr -s ' '); }
says() { [[ $text == *"$1"* ]] || fail "expected '$1', got: $text"; }

# A rung of each op that has one, and a small shape.
rungs='matmul_bf16.cpu.05_amx_tile 17,33,65
matmul_int8.cpu.08_amx_threads 17,33,65
mlp_fwd.cpu.10_amx_tiles 65,5,33,2,3,1
mlp_bwd.cpu.10_amx_tiles 65,5,33,2,3,1
mlp_narrow_fwd.cpu.04_amx_tiles 65,5,33,2,3,1,2
mlp_int8_fwd.cpu.03_amx_tiles 65,5,33,2,3,1
conv2d_fwd.cpu.10_amx_tiles 1,2,3,17,9,7,3,3,2,1,1,1,1,1,0'

export KLAB_PRETEND_TILES=absent
while read -r rung shape; do
  ask check "$rung" --shape "$shape"
  ((code == 0)) || fail "$rung is wrong on the model: $text"
  says " ok, 0 failed, 0 skipped"
done <<<"$rungs"
ask bench --quick matmul_bf16.cpu.05_amx_tile matmul_bf16.cpu.02_loop_order --shape 64,64,64
says "needs a processor with AMX"
ask --isa amx list matmul_bf16
((code == 2)) || fail "--isa amx passed: $text"
says "--isa amx: needs a processor with AMX"

export KLAB_PRETEND_TILES=refused
while read -r rung shape; do
  ask check "$rung" --shape "$shape"
  says "0 failed, 1 skipped"
  says "arch_prctl"
  says "seccomp"
done <<<"$rungs"
ask --isa amx list matmul_bf16
((code == 2)) || fail "--isa amx passed where the system refuses tiles: $text"
says "--isa amx: the system refuses AMX tiles (arch_prctl"
