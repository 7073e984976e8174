#!/usr/bin/env bash
# Every test that stands in a test program is enrolled in CTest, once: tests/CMakeLists.txt finds their names by reading the
# files, and a name that it misses would never run.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
build=$3
(cd "$build" && ctest -N) | sed -nE 's/^ *Test +#[0-9]+: (.*)$/\1/p' | grep -F . | sed -E 's/^[a-z_]+\.//; s/ +#.*//' | sort >"$tmp/enrolled"
for program in "$build"/tests/test_*; do
  [[ -f $program && -x $program ]] || continue
  "$program" --gtest_list_tests 2>/dev/null | awk '/^[^ ]/ { suite = $1; next } { sub(/^ +/, ""); sub(/ +#.*/, ""); print suite $0 }'
done | sort >"$tmp/standing"
[[ -s $tmp/standing ]] || { echo "FAILED: no test program in $build/tests lists its tests"; exit 1; }
missing=$(comm -13 <(sed 's,/[^/]*$,,' "$tmp/enrolled" | sort -u) <(sed 's,/[^/]*$,,' "$tmp/standing" | sort -u))
[[ -z $missing ]] || { echo "FAILED: in a program and never run:"; echo "$missing"; exit 1; }
standing=$(wc -l <"$tmp/standing") enrolled=$(wc -l <"$tmp/enrolled")
[[ $standing -eq $enrolled ]] || { echo "FAILED: the programs hold $standing tests and CTest runs $enrolled"; exit 1; }
echo "$enrolled tests, each enrolled once"
