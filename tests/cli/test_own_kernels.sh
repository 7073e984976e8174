#!/usr/bin/env bash
# ctest: slow
# klab as a library: it is installed, and a project with its own kernels is built from the installation, outside this
# tree. Everything works there. A variant is a file: a broken copy of a rung is picked up by a rebuild alone and fails the
# check by name. Files in a wrong place are refused with the file and the expected place, and an installed header that is
# broken breaks the project.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
source_dir=$2 build_dir=$3
count_failures
has() { grep -q -e "$2" "$1" || { cat "$1"; fail "$3"; }; }

must install cmake --install "$build_dir" --prefix "$tmp/installed"
cp -r "$source_dir/examples/own_kernels" "$tmp/project"
cd "$tmp/project"
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build_dir/CMakeCache.txt")
configure() { cmake -S . -B build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$tmp/installed"; }
must configure configure
must build ninja -C build own
grep -q -F "$source_dir" build/compile_commands.json && fail "the project is compiled with files of klab's source tree"
own=$PWD/build/own
unset KLAB_ROOT

# Former paths of headers: the compiler names the present one, which is installed.
while read -r old new; do
  [[ $old == kernels/* ]] || continue
  echo "#include \"$old\"" >"$tmp/moved.cpp"
  "$compiler" -fsyntax-only -I"$tmp/installed/include/klab" "$tmp/moved.cpp" 2>"$tmp/log" && fail "the former path $old is taken"
  has "$tmp/log" "$old is now $new" "no error names the present path of $old"
  [[ -f $tmp/installed/include/klab/$new ]] || fail "$new is not installed"
done <"$source_dir/cmake/moved_headers.txt"
export OMP_WAIT_POLICY=passive KLAB_WORK=$tmp/work NO_COLOR=1

must list "$own" list
for id in swiglu_fwd.cpu.02_threads swiglu_bwd.cuda.01_one_each "backward of swiglu_fwd"; do has "$tmp/log" "$id" "list"; done
grep -q matmul "$tmp/log" && fail "klab's own ops are in another project's program"
must check "$own" check --json
python3 - "$tmp/log" <<'END' || fail "check: gradients"
import json, sys
rows = {v["variant"]: v for v in json.load(open(sys.argv[1]))["variants"]}
wanted = {f"swiglu_{d}.{r}" for d in ("fwd", "bwd") for r in ("cpu.01_naive", "cpu.02_threads", "cuda.01_one_each")}
assert wanted <= set(rows) and "swiglu_bwd.reference" in rows, sorted(rows)
assert all(v["verdict"] == "ok" and v["cases"] > 100 for v in rows.values()), rows
END
must bench "$own" bench --quick --out "$tmp/rows.csv"
has "$tmp/rows.csv" swiglu_bwd.cpu.02_threads "rows"
must trace "$own" trace swiglu_fwd.cuda.01_one_each --shape 1024 --html "$tmp/trace.html"
has "$tmp/log" "kernels/swiglu_fwd/cuda/01_one_each.cu" "trace names the file"
has "$tmp/log" "load 4 B" "trace counts"
must "a program of CUDA" "$own" trace "$source_dir/tests/programs/scan.cu"
has "$tmp/log" "scan passed" "a program of CUDA"
must klab-nvcc "$tmp/installed/bin/klab-nvcc" "$source_dir/tests/programs/histogram.cu" -o "$tmp/histogram"
must "what klab-nvcc made" "$tmp/histogram"
# On a busy machine no session may be usable. Then klab refuses the baseline and names the reason.
code=0
"$own" bench --quick --baseline first --sessions 4 >"$tmp/log" 2>&1 || code=$?
if [[ $code -eq 0 ]]; then
  "$own" regress --against first --minutes 0.2 >"$tmp/log" 2>&1 || code=$?
  [[ $code -le 1 ]] || has "$tmp/log" "undecided\|could be decided" "regress ended with $code"
  has "$tmp/log" swiglu_bwd "regress"
else
  has "$tmp/log" "none of the 4 sessions is usable" "baseline ended with $code"
fi
must report "$own" report "$tmp/rows.csv" -o "$tmp/report.html"
has "$tmp/report.html" swiglu_bwd "report"
must step "$own" step 01.02
cp kernels/swiglu_fwd/cpu/02_threads.cpp "$KLAB_WORK/01_swiglu/02.cpp"
must "step with klab's own answer" "$own" step 01.02 --check --no-time

# One index wrong: the element before.
sed -E '/^ *\/\//!s/x\.a\[i\]/x.a[i > 0 ? i - 1 : 0]/' kernels/swiglu_fwd/cpu/01_naive.cpp >kernels/swiglu_fwd/cpu/99_broken.cpp
# And a race: each thread leaves its neighbor's result in shared memory, and no barrier stands before it is read.
sed -e 's|if (i < n) y\[i\] = .*|__shared__ float tile[kThreads];\n  const int64_t other = i ^ 1;\n  if (other < n) tile[threadIdx.x ^ 1] = a[other] / (1 + expf(-a[other])) * b[other];\n  if (i < n) y[i] = tile[threadIdx.x];|' \
  kernels/swiglu_fwd/cuda/01_one_each.cu >kernels/swiglu_fwd/cuda/99_race.cu
must rebuild ninja -C build own
code=0
"$own" check swiglu_fwd.cuda.99_race --quick >"$tmp/race.txt" 2>&1 || code=$?
[[ $code -eq 1 ]] || fail "check of a rung with a race ended with $code instead of 1"
has "$tmp/race.txt" "swiglu_fwd.cuda.99_race .*FAILED" "no line names the rung with a race"
has "$tmp/race.txt" "race" "the race is not called so"
rm kernels/swiglu_fwd/cuda/99_race.cu
code=0
"$own" check swiglu_fwd.cpu.99_broken --quick >"$tmp/after.txt" 2>&1 || code=$?
[[ $code -eq 1 ]] || fail "check of a broken rung ended with $code instead of 1"
has "$tmp/after.txt" "swiglu_fwd.cpu.99_broken .*FAILED" "no line names the broken variant"
for word in "wrong value.* in y\[[0-9]*\]" expected got bound inputs; do has "$tmp/after.txt" "$word" "no '$word'"; done
"$own" check swiglu_fwd.cpu.99_broken --quick --json >"$tmp/after.json"
has "$tmp/after.json" '"verdict": "failed"' "JSON does not say failed"
"$own" schema check >"$tmp/schema.json"
PYTHONPATH=$source_dir/tests/cli python3 -B - "$tmp/after.json" "$tmp/schema.json" <<'END' || fail "a failed check is not what its schema says"
import json, sys
from json_schema import errors
sys.exit("\n".join(errors(*[json.load(open(name)) for name in sys.argv[1:]])) or 0)
END
must "the good rung" "$own" check swiglu_fwd.cpu.01_naive --quick
rm kernels/swiglu_fwd/cpu/99_broken.cpp

refused() {  # what, words that the error holds
  local what=$1; shift
  configure >"$tmp/log" 2>&1 && fail "$what was taken"
  tr '\n' ' ' <"$tmp/log" | tr -s ' ' >"$tmp/words"
  for word in "$@"; do has "$tmp/words" "$word" "$what: '$word' is not in the message"; done
}
cp kernels/swiglu_fwd/cpu/01_naive.cpp kernels/swiglu_fwd/cpu/Best.cpp
refused "a path that is no id" kernels/swiglu_fwd/cpu/Best.cpp "NN_rung.cpp"
rm kernels/swiglu_fwd/cpu/Best.cpp
mkdir -p kernels/other/cpu && cp kernels/swiglu_fwd/cpu/01_naive.cpp kernels/other/cpu/01_naive.cpp
refused "an op without a reference" kernels/other/cpu/01_naive.cpp reference/other/other.h
rm -r kernels/other
mkdir reference/twin && sed 's/SwigluFwd/Twin/' reference/swiglu_fwd/swiglu_fwd.h >reference/twin/twin.h
refused "two contracts of one name" reference/twin/twin.h reference/swiglu_fwd/swiglu_fwd.h "called swiglu_fwd"
rm -r reference/twin

must configure configure
must "the project as it was" ninja -C build own
sed -i 's/struct VariantSpec {/struct VariantSpecs {/' "$tmp/installed/include/klab/harness/core/registrar.h"
ninja -C build own >"$tmp/log" 2>&1 && fail "a broken installed header does not break the project"
has "$tmp/log" VariantSpec "the error is another"

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
