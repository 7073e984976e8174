#!/usr/bin/env bash
# ctest: slow
# A variant is a file: a copy of the first matmul rung with one index wrong is picked up by a rebuild alone and fails
# the check by name. Done in a small copy of the tree (this op only, unoptimized, for one instruction set), so that the checkout stays as it is.
# The harness is not compiled again: where this build has a file's object, the copy's build takes it.
set -euo pipefail
source_dir=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

op=matmul
[[ -d $source_dir/kernels/$op/cpu ]] || op=vector_add
lab=$(basename "$(grep -l "make_op<.*>" "$source_dir"/labs/*_"$op"/lab.cpp | xargs dirname)")
cp -r "$source_dir"/{CMakeLists.txt,CMakePresets.json,cmake,harness} "$copy"
mkdir -p "$copy"/{kernels/$op/cpu,labs,reference,reports}
cp "$source_dir"/reference/*.h "$copy/reference"
cp -r "$source_dir"/reference/${op}* "$copy/reference"
cp -r "$source_dir/labs/$lab" "$copy/labs"
# The first rung of each of the lab's ops: no more is needed, and peers need libraries.
for dir in "$source_dir"/kernels/${op}*/cpu; do
  mkdir -p "$copy/kernels/$(basename "$(dirname "$dir")")/cpu"
  cp "$(ls "$dir"/*.cpp | head -n 1)" "$copy/kernels/$(basename "$(dirname "$dir")")/cpu"
done
[[ -d $source_dir/kernels/common ]] && cp -r "$source_dir/kernels/common" "$copy/kernels"
# Of the harness, what checking takes: the command, and from there whatever the includes lead to. A source file belongs
# to the header beside it that it includes first.
cp "$source_dir"/reports/report.{css,js} "$copy/reports"
keep=$'harness/cli/main.cpp\nharness/cli/command.cpp\nharness/cli/cmd_check.cpp'
cd "$copy"
owners=$(grep -m 1 '^#include "harness/' -- harness/*.cpp harness/*/*.cpp | grep -v '/cmd_' | sed 's/:#include "/ /; s/"$//' |
  awk '{a = $1; b = $2; sub("[^/]*$", "", a); sub("[^/]*$", "", b); if (a == b) print}')
while before=$keep; do
  headers=$(grep -h '^#include "harness/' -- $keep | sed 's/#include "//; s/"$//' | sort -u)
  sources=$(awk 'NR == FNR {wanted[$1]; next} $2 in wanted {print $1}' <(echo "$headers") <(echo "$owners"))
  keep=$(printf '%s\n' $keep $headers $sources | sort -u)
  [[ $keep == "$before" ]] && break
done
for file in harness/*.cpp harness/*/*.cpp; do
  grep -qxF -e "$file" <<<"$keep" || [[ $file == harness/simt/anchor.cpp ]] || rm "$file"
done
cd - >/dev/null

compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$3/CMakeCache.txt")
# Stands before the compiler's command, which ends with "-MD -MT OBJECT -MF RULE -o OBJECT -c SOURCE".
cat >"$copy/object_at_hand" <<END
#!/usr/bin/env bash
for ready in "$3"/CMakeFiles/*.dir/"\${!##"$copy"/}".o; do
  object=\${*: -3:1} rule=\${*: -5:1}
  [[ -f \$ready && \$ready == */harness/* ]] || break
  cp "\$ready" "\$object" && echo "\$object: \${!#}" >"\$rule"
  exit
done
exec "\$@"
END
chmod +x "$copy/object_at_hand"
cmake -S "$copy" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="-O0 -DHWY_COMPILE_ONLY_STATIC" -DKLAB_TESTS=OFF \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_COMPILER_LAUNCHER="$copy/object_at_hand" >"$copy/configure.log" ||
  { cat "$copy/configure.log"; fail "configure"; }
ninja -C "$copy/build" klab >"$copy/build.log" || { tail -n 40 "$copy/build.log"; fail "build"; }
klab=$copy/build/klab
"$klab" check "$op.cpu" --quick >"$copy/before.txt" || { cat "$copy/before.txt"; fail "the unbroken rung fails"; }

# One index wrong: a is read one element too far back.
rung=$(ls "$copy/kernels/$op/cpu"/*.cpp | head -n 1)
broken=$copy/kernels/$op/cpu/99_broken.cpp
sed -E '/^ *\/\//!s/(x\.)?(\ba)\[([^]]+)\]/\1\2[(\3) > 0 ? (\3) - 1 : 0]/' "$rung" >"$broken"
cmp -s "$rung" "$broken" && fail "the copy of $rung was not broken"

ninja -C "$copy/build" klab >"$copy/build.log" || { tail -n 40 "$copy/build.log"; fail "rebuild"; }
code=0
"$klab" check "$op.cpu.99_broken" --quick >"$copy/after.txt" 2>&1 || code=$?
cat "$copy/after.txt"
[[ $code -eq 1 ]] || fail "klab check ended with $code instead of 1"
grep -q "$op.cpu.99_broken .*FAILED" "$copy/after.txt" || fail "no line names the broken variant"
grep -Eq "wrong value.* in [a-z]+\[[0-9,]+\]" "$copy/after.txt" || fail "no tensor and index"
grep -q "expected" "$copy/after.txt" && grep -q "got" "$copy/after.txt" || fail "no expected and got"
grep -q "bound" "$copy/after.txt" && grep -q "inputs" "$copy/after.txt" || fail "no bound and inputs"
"$klab" check "$op.cpu.99_broken" --quick --json >"$copy/after.json" || true
grep -q '"verdict": "failed"' "$copy/after.json" || fail "JSON does not say failed"
"$klab" check "$(basename "$rung" .cpp | sed "s/^/$op.cpu./")" --quick >/dev/null || fail "the good rung fails now"
