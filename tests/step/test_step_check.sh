#!/usr/bin/env bash
# The learner's path as a learner meets it: right answers pass, every kind of bad file is told apart and named, and klab
# lives. Nothing here is decided by time: speed is judged from made-up times in test_step.cpp, and for every step in real
# time by `klab step --every --with own`.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
export KLAB_ROOT=$root KLAB_WORK=$tmp/work NO_COLOR=1 OMP_WAIT_POLICY=passive
failed=0
fail() { echo "FAILED: $*"; failed=1; }

"$klab" step 01.02 >"$tmp/text" || fail "step 01.02 does not begin"
grep -q "02_simd" "$tmp/text" || fail "no text"
work=$KLAB_WORK/01_vector_add/02.cpp
[[ -f $work ]] || fail "no work file"
grep -q "CHANGE" "$work" && grep -q "vector_add.cpu.01_scalar" "$work" || fail "the work file has no header"
# Into files: grep -q ends at its first match, and klab would die of the closed pipe.
"$klab" step 01.02 --hint 2 >"$tmp/hints" && grep -q "Hint 2 of" "$tmp/hints" || fail "no hints"
echo "// mine" >>"$work"
"$klab" step 01.02 >/dev/null && grep -q "// mine" "$work" || fail "a second start overwrites the file"
"$klab" step 01.77 >/dev/null 2>"$tmp/err"; [[ $? -eq 2 ]] || fail "an unknown step does not end with 2"
grep -q "01.0" "$tmp/err" || fail "an unknown step names no other"

# Where am I: labs in 20 lines, one lab's steps with a few words, nothing wider than the terminal. A single digit means a lab.
"$klab" step >"$tmp/where" || fail "klab step"
(($(wc -l <"$tmp/where") <= 20)) || { cat "$tmp/where"; fail "klab step has more than 20 lines"; }
grep -q "^01_vector_add .* 0 of" "$tmp/where" && grep -q "^Next: klab step 01.0" "$tmp/where" || { cat "$tmp/where"; fail "klab step"; }
awk '/03_transpose/ {t = NR} /02_window_sum/ {w = NR} END {exit !(t && t < w)}' "$tmp/where" || fail "the labs are not in the path's order"
COLUMNS=80 "$klab" step 1 >"$tmp/lab"
grep -q "^  01.02  *all lanes" "$tmp/lab" || { cat "$tmp/lab"; fail "klab step 1 does not list lab 01 with a few words each"; }
COLUMNS=80 "$klab" step 7 >"$tmp/lab7"
python3 - "$tmp/lab" "$tmp/lab7" <<'END' || fail "lines are wider than 80 columns"
import sys
assert all(len(line.rstrip("\n")) <= 80 for name in sys.argv[1:] for line in open(name, encoding="utf-8"))
END
# A passing file is kept; --undo takes it back, and what is moved aside is listed.
"$klab" step --undo 01.02 >/dev/null 2>"$tmp/err" && fail "--undo without a passing file"
grep -q "no passing file of step 01.02" "$tmp/err" || { cat "$tmp/err"; fail "--undo does not say what is missing"; }
echo "// passed" >"$work.passed"
mv "$work" "$tmp/before" && echo "// broken" >"$work"
"$klab" step --undo 01.02 >/dev/null && grep -q "// passed" "$work" && grep -q "// broken" "$work.old" || fail "--undo"
"$klab" step 01 >"$tmp/lab" && grep -q "02.cpp.old, 02.cpp.passed" "$tmp/lab" || { cat "$tmp/lab"; fail "kept files are not listed"; }
rm "$work.old" "$work.passed" && mv "$tmp/before" "$work"
# Answers are out of sight: the code of rungs is folded as hints are.
"$klab" explain 01 >"$tmp/page" && ! grep -q "hn::StoreU" "$tmp/page" || fail "explain shows a rung's code"
grep -q "> Code (folded" "$tmp/page" || fail "explain does not say that code is folded"
"$klab" explain 01 --hints >"$tmp/page" && grep -q "StoreU" "$tmp/page" || fail "explain --hints shows no code"

# Bad files: the code that replaces the parent's loop, and klab's name for the error. Each has its own work folder.
bad() {  # name outcome file-level-code loop [more arguments]
  local name=$1 outcome=$2 above=$3 loop=$4 dir=$tmp/bad/$1; shift 4
  mkdir -p "$dir/01_vector_add"
  sed -e '/^\/\/ mine$/d' -e "s|^namespace klab {|$above\n&|" -e "s|^  for (int64_t i = 0; .*|  $loop|" "$work" \
    >"$dir/01_vector_add/02.cpp"
  local code=0
  KLAB_WORK=$dir "$klab" step --check 01.02 --no-time --json "$@" >"$dir/out" 2>"$dir/err" || code=$?
  [[ $code -eq 1 ]] || { echo "$name: exit code $code"; cat "$dir/out" "$dir/err"; } >"$dir/failed"
  grep -q "\"outcome\": \"$outcome\"" "$dir/out" || { echo "$name: not '$outcome'"; cat "$dir/out" "$dir/err"; } >"$dir/failed"
}
good='for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.a[i] + x.b[i];'
all_bad() {
  bad unchanged unchanged "" "$good"
  bad syntax "does not compile" "" "for (int64_t i = 0; i < x.shape.n ++i) x.c[i] = 0;"
  bad endless "does not end" "" "for (volatile int64_t i = 0;; ++i) { }" --seconds 2
  bad crash crashes "" "$good if (x.shape.n > 4) *reinterpret_cast<volatile float*>(8) = 1;"
  bad edge "out of bounds" "" "for (int64_t i = 0; i <= x.shape.n; ++i) x.c[i] = x.a[i] + x.b[i];"
  bad prints prints "#include <cstdio>" "std::puts(\"hello\"); $good"
  bad inputs "changes its inputs" "" "$good if (x.shape.n > 2) const_cast<float*>(x.a)[1] = 7;"
  bad peer "calls what it must not" "extern \"C\" void cblas_saxpy(int, float, const float*, int, float*, int);" \
    "$good cblas_saxpy(0, 1, x.a, 1, x.c, 1);"
  bad exits "exits the process" "#include <cstdlib>" "std::exit(0);"
  bad quick_exits "exits the process" "#include <unistd.h>" "_exit(7);"
  bad throws throws "#include <stdexcept>" "throw std::runtime_error(\"no\");"
  bad last wrong "" "for (int64_t i = 0; i + 1 < x.shape.n; ++i) x.c[i] = x.a[i] + x.b[i];"
  bad stale "stale results" \
    "static const void* at; static float kept[4000000];" \
    "$good if (x.c == at) { for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = kept[i]; } else { at = x.c; \
for (int64_t i = 0; i < x.shape.n; ++i) kept[i] = x.c[i]; }"
  bad nondeterministic "nondeterministic" "static int calls;" "$good if (x.shape.n > 0) x.c[0] += float(++calls % 3);"
  bad body "calls what it must not" '#include "kernels/vector_add/cpu/02_simd.cpp"' "$good"
}
all_bad & others=$!

# A crash names its line, failing cases what they have in common, and a variable that is read before it is set its declaration.
diagnosed() {  # name, loop, expected words
  local dir=$tmp/said/$1
  mkdir -p "$dir/01_vector_add"
  sed -e '/^\/\/ mine$/d' -e "s|^  for (int64_t i = 0; .*|  $2|" "$work" >"$dir/01_vector_add/02.cpp"
  KLAB_WORK=$dir "$klab" step --check 01.02 --no-time >"$dir/out" 2>&1
  tr -s ' \n' ' ' <"$dir/out" >"$dir/line"
  for words in "${@:3}"; do
    grep -qF -- "$words" "$dir/line" || { cat "$dir/out"; fail "$1: '$words' is not said"; }
  done
}
diagnosed crash_line "$good if (x.shape.n > 64) *reinterpret_cast<volatile float*>(8) = 1;" "failing cases have n > 64" \
  "Line $(grep -n '^  for (int64_t i' "$work" | cut -d: -f1): for"
diagnosed unset "float last; for (int64_t i = 0; i < x.shape.n; ++i) { if (i % 3) last = x.a[i]; x.c[i] = last + x.b[i]; }" \
  "read before set?" "float last;"
# Every thread writes the same right numbers, so that no value tells.
diagnosed race "_Pragma(\"omp parallel\") $good" "race of threads in c" "nothing orders the two" "a race?"

# Another spelling of the parent is right, and not done: whether it is the step's change shows in its time.
mkdir -p "$tmp/cosmetic/01_vector_add"
sed 's/\bi\b/index/g' "$work" >"$tmp/cosmetic/01_vector_add/02.cpp"
KLAB_WORK=$tmp/cosmetic "$klab" step --check 01.02 --no-time >"$tmp/cosmetic/out" || { cat "$tmp/cosmetic/out"; fail "a right file, not timed"; }
grep -q "^5 next *done" "$tmp/cosmetic/out" && fail "a cosmetic edit is called done"
grep -q '"done": true' "$tmp/cosmetic/progress.json" && fail "a cosmetic edit is recorded as done"
grep -qE "bound|1\.000" "$tmp/cosmetic/out" && fail "an error within its bound alarms"

# An unused constant is a warning; a wrong vector call is one error, shown once, with few lines.
mkdir -p "$tmp/unused/01_vector_add" "$tmp/vector/01_vector_add"
sed 's|^namespace klab {|&\nnamespace { constexpr int kUnused = 4; }|' "$tmp/cosmetic/01_vector_add/02.cpp" >"$tmp/unused/01_vector_add/02.cpp"
KLAB_WORK=$tmp/unused "$klab" step --check 01.02 --no-time >"$tmp/unused/out" || { cat "$tmp/unused/out"; fail "an unused constant"; }
sed "s|StoreU(\([^;]*\), d, \([^;]*\));|StoreU(\1, \2);|" \
  "$root/kernels/vector_add/cpu/02_simd.cpp" >"$tmp/vector/01_vector_add/02.cpp"
KLAB_WORK=$tmp/vector "$klab" step --check 01.02 --no-time >"$tmp/vector/out" && fail "a wrong vector call compiles"
lines=$(wc -l <"$tmp/vector/out")
((lines <= 10)) || { cat "$tmp/vector/out"; fail "a wrong vector call gives $lines lines"; }
grep -q "StoreU" "$tmp/vector/out" || { cat "$tmp/vector/out"; fail "a wrong vector call is not shown"; }

# Hints that were read are not offered again.
grep -q -- "--hint 3 (of" "$tmp/vector/out" && fail "the hints of another work folder count"
"$klab" step 01.02 --hint 9 >/dev/null
"$klab" step --check 01.02 --no-time >"$tmp/hinted"
grep -q "all hints are read" "$tmp/hinted" || { cat "$tmp/hinted"; fail "hints are offered after all were read"; }

# A full disk leaves no part of an export.
mkdir "$tmp/full"
(trap '' XFSZ; ulimit -f 1; KLAB_WORK=$tmp/cosmetic exec "$klab" step --export "$tmp/full/me.json") >/dev/null 2>&1 && fail "--export on a full disk"
[[ -z $(ls -A "$tmp/full") ]] || { ls -A "$tmp/full"; fail "a full disk leaves a part of an export"; }

# No variant in the file, and two.
mkdir -p "$tmp/none/01_vector_add"
sed '/^KLAB_VARIANT/d' "$work" | sed 's/^KLAB_SCALAR_FUNCTION void run/[[maybe_unused]] &/' >"$tmp/none/01_vector_add/02.cpp"
KLAB_WORK=$tmp/none "$klab" step --check 01.02 --no-time --json >"$tmp/none/out"
grep -q "registers no variant" "$tmp/none/out" || { cat "$tmp/none/out"; fail "a file without variant"; }

# Files left by a killed klab are removed by the next one.
true & gone=$!; wait $gone
left=${TMPDIR:-/tmp}/klab_step_${gone}_abcdef; mkdir "$left"

# klab's own rung as the answer: a CPU step, a backward, CUDA under host execution; and the parent, which is refused.
for step in 01.02 05.matmul_bwd.02 03.cuda.03; do
  "$klab" step --check $step --with own --no-time >"$tmp/own" || { cat "$tmp/own"; fail "$step: klab's own rung does not pass"; }
done
"$klab" step --check 03.cuda.03 --with parent --json >"$tmp/parent" && fail "the parent of 03.cuda.03 passes"
grep -q '"bank conflicts"' "$tmp/parent" || { cat "$tmp/parent"; fail "the parent's bank conflicts are not named"; }

[[ ! -e $left ]] || { rmdir "$left"; fail "a scratch folder of a process that is gone stays"; }

# CUDA: a barrier forgotten is found, and called so.
"$klab" step 03.cuda.03 >/dev/null
sed -i '0,/__syncthreads();/s///' "$KLAB_WORK/03_transpose/03.cu"
"$klab" step --check 03.cuda.03 --json >"$tmp/race" && fail "a missing barrier passes"
grep -qE "missing barrier|read before written" "$tmp/race" || { cat "$tmp/race"; fail "a missing barrier is not named"; }

# The trace of one's own file: its lines, by its own numbers.
"$klab" trace 03.cuda.03 --json >"$tmp/trace"
grep -q "03_yours" "$tmp/trace" || { head -c 2000 "$tmp/trace"; fail "no trace of one's own file"; }

# Progress and hand-in.
grep -q '"transpose.cuda.03_padded"' "$KLAB_WORK/progress.json" || fail "no progress"
"$klab" step >"$tmp/path" || fail "klab step"
grep -q "Next:" "$tmp/path" || fail "klab step does not say what is next"
"$klab" step --solution 03.cuda.03 >"$tmp/solution" && grep -q "^+.*kTile + 1" "$tmp/solution" || fail "--solution shows no difference"
wait $others
cat "$tmp"/bad/*/failed 2>/dev/null && failed=1

# Grading: one good file, one that reads another learner's, one missing; each in isolation, none outside its folder.
echo "{\"folder\": \"$tmp\", \"command\": [\"/bin/true\"]}" >"$tmp/plan"
if "$klab" step --confine "$tmp/plan" 2>/dev/null; then
  mkdir -p "$tmp/class"/{eve,zoe}/01_vector_add
  cp "$root/kernels/vector_add/cpu/02_simd.cpp" "$tmp/class/zoe/01_vector_add/02.cpp"
  { echo "#include \"$tmp/class/zoe/01_vector_add/02.cpp\""; cat "$work"; } >"$tmp/class/eve/01_vector_add/02.cpp"
  KLAB_WORK=$tmp/bad/edge "$klab" step --export "$tmp/class/bob.json" --name Bob >/dev/null || fail "--export"
  "$klab" step --grade "$tmp/class" --steps 01.02 --no-time --out "$tmp/grades.csv" >"$tmp/grades"
  grep -q "^zoe,01.02,1,not timed" "$tmp/grades.csv" || { cat "$tmp/grades" "$tmp/grades.csv"; fail "the good submission"; }
  grep -q "^eve,01.02,0,does not compile" "$tmp/grades.csv" || { cat "$tmp/grades.csv"; fail "another's file was read"; }
  grep -q "^bob,01.02,0,out of bounds" "$tmp/grades.csv" || { cat "$tmp/grades.csv"; fail "the exported submission"; }
fi
exit $failed
