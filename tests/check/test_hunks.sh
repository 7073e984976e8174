#!/usr/bin/env bash
# Wrong kernels are made from a rung and hunks: where a hunk does not apply, the error names mutant, hunk and remedy.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
tool=$(dirname "$1")/tests/klab_apply_hunks
[[ -x $tool ]] || { echo "skipped: this build has no mutants"; exit 77; }
count_failures

mkdir -p "$tmp/tree/kernels/one/cpu" "$tmp/tree/kernels/one/cuda"
cat >"$tmp/tree/kernels/one/cpu/02_fast.cpp" <<'RUNG'
// one.cpu.02_fast: adds.
//
// CHANGE    nothing.
#include "reference/one/one.h"

void run() {
  first();
  twice();
  twice();
}

KLAB_VARIANT(One, {.run = run,
                   .parent = "01_slow",
                   .tiles = {8, 16},
                   .expect = {.shape = {1, 2}, .over_parent = 2},
                   .was = {"03_old"}});
RUNG
sed 's/one.cpu/one.cuda/' "$tmp/tree/kernels/one/cpu/02_fast.cpp" >"$tmp/tree/kernels/one/cuda/02_fast.cu"

make() {  # name, then the lines of the mutant
  local name=$1; shift
  printf '%s\n' "$@" >"$tmp/$name.hunks"
  "$tool" "$tmp/tree" "$tmp/$name.hunks" "$tmp/$name.cpp" "$tmp/$name.d" 2>"$tmp/err"
}
head=("// one.cpu.70_wrong: forgets." "// Must be caught as Fault::wrong_value: one.")

make 70_wrong "${head[@]}" "rung one.cpu.02_fast" "@@" "+#include <cmath>" "@@" " void run() {" "-  first();" "+  last();" ||
  { cat "$tmp/err"; fail "a hunk that fits does not apply"; }
cat >"$tmp/expected" <<'MADE'
// one.cpu.70_wrong: forgets.
// Must be caught as Fault::wrong_value: one.
#include "tests/mutants/mutant.h"
#include <cmath>
#include "reference/one/one.h"

void run() {
  last();
  twice();
  twice();
}

KLAB_MUTANT(One, Fault::wrong_value, {.run = run, .tiles = {8, 16}});
MADE
diff "$tmp/expected" "$tmp/70_wrong.cpp" || fail "the kernel is not the rung with its hunks"
grep -q "70_wrong.cpp: .*70_wrong.hunks .*02_fast.cpp" "$tmp/70_wrong.d" || fail "the kernel does not depend on its rung"

make 71_set "${head[@]}" "rung one.cuda.02_fast" "registers {.run = run}" || fail "a mutant without hunks"
grep -qx "KLAB_VARIANT(One, {.run = run});" "$tmp/71_set.cpp" || fail "a CUDA mutant is not registered as it says"

# A part that rungs share stands in place of its include, and hunks change it.
printf '// The part of one.cpu.02_fast.\n//\n// Included in place.\n\nvoid first() {}\n' >"$tmp/tree/kernels/one/cpu/02_fast-inl.h"
sed 's|^void run|#include "kernels/one/cpu/02_fast-inl.h"\n\n&|; s/02_fast: adds/03_both: adds/' "$tmp/tree/kernels/one/cpu/02_fast.cpp" >"$tmp/tree/kernels/one/cpu/03_both.cpp"
make 73_part "${head[@]}" "rung one.cpu.03_both" "@@" "-void first() {}" "+void first() { wrong(); }" || { cat "$tmp/err"; fail "a hunk in a part"; }
grep -qx "void first() { wrong(); }" "$tmp/73_part.cpp" || fail "the part is not changed"
grep -q "02_fast-inl.h\|The part of" "$tmp/73_part.cpp" && fail "the part is not in place"
grep -q "02_fast-inl.h" "$tmp/73_part.d" || fail "the kernel does not depend on the part"

refused() {  # what, expected text, then the lines of the mutant
  local what=$1 text=$2; shift 2
  rm -f "$tmp/72_bad.cpp"
  make 72_bad "$@"
  [[ $? -eq 2 && ! -e $tmp/72_bad.cpp ]] || fail "$what: no error"
  grep -q -- "$text" "$tmp/err" || { cat "$tmp/err"; fail "$what: the error does not say '$text'"; }
}
refused "lines that are gone" "72_bad.hunks:6: hunk 2 of mutant 72_bad does not apply: .*02_fast.cpp holds its old lines nowhere" \
  "${head[@]}" "rung one.cpu.02_fast" "@@" "-  first();" "@@" "-  gone();"
refused "lines that occur twice" "2 times; add lines around them" "${head[@]}" "rung one.cpu.02_fast" "@@" "-  twice();"
refused "overlapping hunks" "hunk 2 overlaps the next" "${head[@]}" "rung one.cpu.02_fast" "@@" "-  first();" "-  twice();" "@@" " void run() {" "-  first();"
refused "an unknown rung" "rung one.cpu.09_none has no file" "${head[@]}" "rung one.cpu.09_none" "@@" "-  first();"
refused "no rung" "names no rung" "${head[@]}"
refused "no fault" "says no fault" "// one.cpu.72_bad: forgets." "rung one.cpu.02_fast"
refused "a line without a mark" "begins with a blank, '-' or '+'" "${head[@]}" "rung one.cpu.02_fast" "@@" "first();"
refused "an unknown line" "expected '// ...'" "${head[@]}" "of one.cpu.02_fast"
exit $((failures > 0))
