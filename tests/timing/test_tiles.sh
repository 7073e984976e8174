#!/usr/bin/env bash
# Tiles on machines that differ: checked on the model and never timed, skipped where the system refuses them, and named where asked
# for.
set -euo pipefail
klab=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() { echo "$*" >&2; exit 1; }
# Runs klab and keeps what it prints, on one line; its exit code is in $code.
ask() { code=0; "$klab" "$@" >"$out/text" 2>&1 || code=$?; text=$(tr '\n' ' ' <"$out/text" | tr -s ' '); }
says() { [[ $text == *"$1"* ]] || fail "expected '$1', got: $text"; }

export KLAB_PRETEND_TILES=absent
ask check matmul_bf16.cpu.05_amx_tile --shape 17,33,65
((code == 0)) || fail "the model is wrong: $text"
says "1 ok, 0 failed, 0 skipped"
ask bench --quick matmul_bf16.cpu.05_amx_tile matmul_bf16.cpu.02_loop_order --shape 64,64,64
says "needs a processor with AMX"
ask --isa amx list matmul_bf16
((code == 2)) || fail "--isa amx passed: $text"
says "--isa amx: needs a processor with AMX"

export KLAB_PRETEND_TILES=refused
ask check matmul_bf16.cpu.05_amx_tile --shape 17,33,65
says "0 ok, 0 failed, 1 skipped"
says "arch_prctl"
says "seccomp"
