#!/usr/bin/env bash
# ctest: slow
# Idioms of public CUDA programs: right ones run without a finding, wrong ones are found at their line. Each file of
# tests/programs/idioms says on its first line what is wanted: "right", or "wrong" with words of the finding; a line marked
# "// found" is the one that must be named.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
count_failures
idioms=$root/tests/programs/idioms

thrust=0
compgen -G "/usr/local/cuda/include/cccl/thrust/version.h" >/dev/null || [[ -e /usr/local/cuda/include/thrust/version.h ]] && thrust=1

one() {  # file: compiles and runs it
  local file=$1 name
  name=$(basename "$file" .cu)
  local flags
  flags=$(sed -n 's|^// flags: ||p' "$file")
  # shellcheck disable=SC2086
  "$build/klab-nvcc" $flags "$file" -o "$tmp/$name" >"$tmp/$name.compiled" 2>&1 || { echo "none" >"$tmp/$name.code"; return; }
  timeout 60 "$tmp/$name" >"$tmp/$name.out" 2>&1
  echo $? >"$tmp/$name.code"
}
export -f one
export build tmp
files=("$idioms"/*.cu)
[[ ${#files[@]} -gt 20 ]] || fail "only ${#files[@]} files in $idioms"
printf '%s\n' "${files[@]}" | xargs -P 2 -I{} bash -c 'one "$1"' _ {}

for file in "${files[@]}"; do
  name=$(basename "$file" .cu)
  grep -q -e thrust -e "<cub/" "$file" && [[ $thrust -eq 0 ]] && continue
  code=$(cat "$tmp/$name.code")
  [[ $code != none ]] || { head -n 8 "$tmp/$name.compiled"; fail "$name does not compile"; continue; }
  wanted=$(head -n 1 "$file")
  case $wanted in
    "// right"*)
      [[ $code -eq 0 ]] || fail "$name: exit code $code, not 0"
      grep "^klab:" "$tmp/$name.out" && fail "$name has findings" ;;
    "// wrong: "*)
      [[ $code -eq 1 ]] || fail "$name: exit code $code, not 1"
      grep -qF -e "${wanted#// wrong: }" "$tmp/$name.out" || { cat "$tmp/$name.out"; fail "$name: no '${wanted#// wrong: }'"; }
      line=$(grep -n "// found" "$file" | head -n 1 | cut -d: -f1)
      grep -qF -e "$name.cu:$line:" "$tmp/$name.out" || { cat "$tmp/$name.out"; fail "$name: line $line is not named"; } ;;
    "// refused: "*)
      [[ $code -eq 2 ]] || fail "$name: exit code $code, not 2"
      grep -qF -e "${wanted#// refused: }" "$tmp/$name.out" || { cat "$tmp/$name.out"; fail "$name: no '${wanted#// refused: }'"; }
      line=$(grep -n "// found" "$file" | head -n 1 | cut -d: -f1)
      if [[ -z $line ]]; then continue; fi
      grep -qF -e "$name.cu:$line:" "$tmp/$name.out" || { cat "$tmp/$name.out"; fail "$name: line $line is not named"; } ;;
    *) fail "$name says nothing of what is wanted" ;;
  esac
done

# Calls of libraries on the host are counted, with the bytes that they read and write.
KLAB_PROGRAM_REPORT=$tmp/report.json "$tmp/sparse_products" >/dev/null 2>&1
python3 - "$tmp/report.json" <<'P' || fail "calls of cuSPARSE are not counted"
import json, sys
calls = {c["name"]: c for c in json.load(open(sys.argv[1]))["library_calls"]}
assert calls["cusparseSpMV"]["count"] == 12 and calls["cusparseSpMM"]["count"] == 2, calls
assert calls["cusparseSpMV"]["bytes"] > 12 * 40, calls
P

"$build/klab-nvcc" --help >"$tmp/help" || fail "klab-nvcc --help"
grep -q -- "-std" "$tmp/help" || fail "klab-nvcc --help does not name -std"

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
