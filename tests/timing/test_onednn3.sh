#!/usr/bin/env bash
# Peers of oneDNN 3, which is loaded at run time: a stand-in with plain loops gives the right products, and what cannot be used is
# skipped with a reason that names it.
set -euo pipefail
klab=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fail() { echo "$*" >&2; exit 1; }
# Checks a peer with that library; what klab prints is in $text, on one line.
ask() {
  code=0
  KLAB_ONEDNN3=$1 "$klab" check "$2" --shape "$3" >"$out/text" 2>&1 </dev/null || code=$?
  text=$(tr '\n' ' ' <"$out/text" | tr -s ' ')
}
says() { [[ $text == *"$1"* ]] || fail "expected '$1', got: $text"; }
build() { cc -O1 -shared -fPIC "${@:2}" "$here/fake_onednn3.c" -o "$out/$1"; }

ask '' matmul.cpu.92_onednn3 17,33,65
[[ $(uname -m) == x86_64 ]] || exit 0
says "0 ok, 0 failed, 1 skipped"
says "oneDNN 3 was not found when klab was built (cmake -DKLAB_ONEDNN3="

ask "$out/none.so" matmul.cpu.92_onednn3 17,33,65
[[ $text == *"address sanitizer"* ]] && exit 0
says "1 skipped"
says "oneDNN 3 cannot be loaded: $out/none.so"

build right.so
ask "$out/right.so" matmul.cpu.92_onednn3 17,33,65
((code == 0)) || fail "wrong products of floats: $text"
says "1 ok, 0 failed, 0 skipped"
for op in matmul_bf16 matmul_int8; do  # skipped where the processor lacks what the peer asks for
  ask "$out/right.so" $op.cpu.92_onednn3 17,32,64
  ((code == 0)) || fail "wrong products of $op: $text"
  [[ $text == *"1 ok, 0 failed, 0 skipped"* ]] || says "AVX-512"
done

build old.so -DMAJOR=2
ask "$out/old.so" matmul.cpu.92_onednn3 17,33,65
says "1 skipped"
says "old.so is oneDNN 2.2.1: version 3 is needed"

build without.so -DNO_PRODUCT
ask "$out/without.so" matmul.cpu.92_onednn3 17,33,65
says "without.so has no dnnl_matmul_primitive_desc_create"

build engine.so -DENGINE=1
ask "$out/engine.so" matmul.cpu.92_onednn3 17,33,65
says "oneDNN 3.2.1 has no engine for this processor"

build product.so -DPRODUCT=3
ask "$out/product.so" matmul.cpu.92_onednn3 17,33,65
says "oneDNN 3.2.1 has no such product for this processor"
