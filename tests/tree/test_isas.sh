#!/usr/bin/env bash
# ctest: slow
# Instruction sets in the object code. Every rung with vectors holds code for the sets that it states, and for no others. Rungs
# without vectors are the same to the byte for every KLAB_ISAS. A program that was built for another processor ends with one
# line that names the build to make.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
klab=$1 root=$2 build=$3
for tool in python3 nm objdump strip; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
count_failures
isas=$(sed -n 's/^KLAB_ISAS:[A-Z]*=//p' "$build/CMakeCache.txt")

cat >"$tmp/objects.py" <<'END'
# objects.py ROOT BUILD KLAB_ISAS: prints the sets of each rung's object and fails where symbols and statement differ.
import glob, os, re, subprocess, sys
root, build, isas = sys.argv[1:]
bits = {7: "AVX3_DL", 8: "AVX3", 9: "AVX2", 11: "SSE4", 12: "SSSE3", 28: "NEON", 61: "EMU128", 62: "SCALAR"}
flags = set()
for line in open("/proc/cpuinfo"):
    if line.startswith("flags"):
        flags = set(line.split())
wrong, found = 0, {}
for source in sorted(glob.glob(f"{root}/kernels/*/cpu/*.cpp")):
    if "kernels/common/simd.h" not in open(source).read():
        continue
    path = os.path.relpath(source, root)
    op = path.split("/")[1]
    obj = f"{build}/CMakeFiles/klab_kernels_{op}.dir/{path}.o"
    if not os.path.exists(obj):
        print(f"{path}: not built"); wrong += 1; continue
    dump = subprocess.run(["objdump", "-s", "-j", "klab_vectors", obj], capture_output=True, text=True).stdout
    data = "".join("".join(m.group(1).split()) for m in re.finditer(r"^ [0-9a-f]+ ((?:[0-9a-f]+ ){1,4})", dump, re.M))
    if len(data) < 16:
        print(f"{path}: states no instruction sets"); wrong += 1; continue
    value = int.from_bytes(bytes.fromhex(data[:16]), sys.byteorder)
    stated = {bits.get(i, str(i)) for i in range(63) if value >> i & 1}
    names = subprocess.run(["nm", obj], capture_output=True, text=True).stdout
    have = set(re.findall(r"\dN_(AVX3_DL|AVX3|AVX2|SSE4|SSSE3|NEON|EMU128|SCALAR)", names))
    # Code without vectors may have been inlined.
    if have - stated or (stated - have) - {"SCALAR", "EMU128"}:
        print(f"{path}: states {sorted(stated)}, has code for {sorted(have)}"); wrong += 1
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags and isas in ("", "best", "all") and "AVX3" not in have:
        print(f"{path}: this processor has AVX-512, and the object has no code for it"); wrong += 1
    if isas == "best" and len(have - {"SCALAR", "EMU128"}) != 1:
        print(f"{path}: KLAB_ISAS=best, and the object has code for {sorted(have)}"); wrong += 1
    found.setdefault(" ".join(sorted(have)), []).append(path)
for sets, paths in found.items():
    print(f"{len(paths)} rungs with vectors: {sets}")
if sum(map(len, found.values())) < 100 or len(found) != 1:
    print("expected more than 100 rungs with vectors, all with the same sets"); wrong += 1
open(f"{os.path.dirname(sys.argv[0])}/sets", "w").write(" ".join(found))
sys.exit(1 if wrong else 0)
END
python3 "$tmp/objects.py" "$root" "$build" "$isas" || fail "instruction sets in the objects"

# As if the processor lacked the one set that was built. With all of them built, any processor will do.
vectors=$(tr ' ' '\n' <"$tmp/sets" | grep -cvE '^(SCALAR|EMU128)?$')
declare -A below=([AVX3]=AVX2 [AVX2]=SSE4)
best=$(tr ' ' '\n' <"$tmp/sets" | grep -E '^AVX[23]$' | sort -r | head -n 1)
started() { KLAB_PRETEND_ISA=$1 "${@:2}" >"$tmp/out" 2>"$tmp/err"; }
for program in "$klab list" "$(find "$build/tests" -maxdepth 1 -type f -perm -u+x -name 'test_*' -print -quit) --gtest_list_tests"; do
  read -ra command <<<"$program"
  code=0
  started "${below[${best:-none}]:-SSE4}" "${command[@]}" || code=$?
  if [[ $vectors -eq 1 && -n $best ]]; then
    [[ $code -eq 2 ]] || fail "$program: exit code $code, not 2, on a processor without $best"
    grep -q "^klab: this program was built for $best.* does not have: build it again here, or with -DKLAB_ISAS=all$" "$tmp/err" ||
      fail "$program says: $(cat "$tmp/err")"
    [[ $(wc -l <"$tmp/err") -eq 1 && ! -s $tmp/out ]] || fail "$program says more than one line"
  else
    [[ $code -eq 0 ]] || fail "$program: exit code $code though it was built for several sets: $(cat "$tmp/err")"
  fi
done

# An instruction set that the processor has and klab was not built for.
if [[ $vectors -eq 1 && -n $best ]]; then
  "$klab" list --isa "${below[$best]}" >"$tmp/out" 2>"$tmp/err" && fail "--isa ${below[$best]} is taken"
  grep -q -F "klab was built for $best" "$tmp/err" && grep -q -F "only; build all with cmake -DKLAB_ISAS=all (or KLAB_ISAS=${below[$best]})" "$tmp/err" ||
    fail "--isa says: $(cat "$tmp/err")"
fi

# The commands that CMake gives for one instruction set and for all.
for way in best all; do
  cmake -S "$root" --preset release -B "$tmp/$way" -DKLAB_TESTS=OFF -DKLAB_ISAS=$way >"$tmp/log" 2>&1 ||
    { tail -n 20 "$tmp/log"; fail "cmake -DKLAB_ISAS=$way"; }
done
cat >"$tmp/command.py" <<'END'
# command.py TREE SOURCE OBJECT: the command of that tree for SOURCE, with OBJECT as its output.
import json, re, sys
tree, source, out = sys.argv[1:]
for entry in json.load(open(f"{tree}/compile_commands.json")):
    if entry["file"] == source:
        # Without the folder of the tree, so that the commands of two trees can be compared.
        print(re.sub(r" -o \S+", f" -o {out}", entry["command"]).replace(tree, "."))
        break
else:
    sys.exit(f"no command for {source}")
END
for file in vector_add/cpu/01_scalar matmul/cpu/01_naive softmax_xent_fwd/cpu/01_naive; do
  for way in best all; do
    (cd "$tmp/$way" && eval "$(python3 "$tmp/command.py" "$tmp/$way" "$root/kernels/$file.cpp" "../$way.o")" && strip -g "$tmp/$way.o") ||
      fail "$file does not compile with KLAB_ISAS=$way"
  done
  cmp "$tmp/best.o" "$tmp/all.o" || fail "$file: its object depends on KLAB_ISAS"
done
# And a rung with vectors is compiled in two ways.
simd=$root/kernels/vector_add/cpu/02_simd.cpp
[[ $(python3 "$tmp/command.py" "$tmp/best" "$simd" -) != "$(python3 "$tmp/command.py" "$tmp/all" "$simd" -)" ]] ||
  fail "KLAB_ISAS does not change how $simd is compiled"

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
