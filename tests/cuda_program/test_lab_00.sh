#!/usr/bin/env bash
# Lab 00: each program of the lesson runs to its own check without a finding, and the counts in its comments on an access ("load 4 B:
# 5 sectors/request") match; every access that has a comment exists. The errors that findings.cu makes on request are found.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
export NO_COLOR=1
programs=$root/labs/00_profiler/programs
count_failures

for file in "$programs"/*.cu; do
  name=$(basename "$file" .cu)
  "$klab" trace "$file" --json >"$tmp/out" 2>"$tmp/err" || { cat "$tmp/out" "$tmp/err"; fail "$name"; continue; }
  grep -q "$name passed" "$tmp/out" "$tmp/err" || fail "$name does not say that it passed"
  python3 - "$file" "$tmp/out" <<'P' || fail "comments of $name"
import json, re, sys
text = open(sys.argv[2]).read()
counted = json.loads(text[text.index("{"):text.rindex("}") + 1])
assert not counted["findings"], counted["findings"]
said = 0
for number, source in enumerate(open(sys.argv[1]), 1):
    for access, width, value, what in re.findall(
            r"// ((?:shared )?(?:load|store|atomic|reduction)) (\d+) B: ([\d.]+) (sectors|wavefronts|lanes|collisions)/request", source):
        found = [l for l in counted["lines"] if l["line"] == number and l["access"] == access and l["bytes_a_lane"] == int(width)]
        assert len(found) == 1, f"line {number}: {len(found)} accesses are called {access} {width} B"
        got = found[0][what] / found[0]["requests"]
        assert abs(got - float(value)) < 0.006, f"line {number}: {got} {what}/request, not {value}"
        said += 1
assert said >= 4 or "findings" in sys.argv[1], f"{said} comments"
P
done

"$build/klab-nvcc" "$programs/findings.cu" -o "$tmp/findings" || fail "findings.cu cannot be compiled"
wrong() {  # argument, exit code, words
  local code=0
  "$klab" trace "$tmp/findings" -- "$1" >"$tmp/out" 2>&1 || code=$?
  [[ $code -eq $2 ]] || fail "$1: exit code $code, not $2"
  grep -qF "$3" "$tmp/out" || { head -n 8 "$tmp/out"; fail "$1: no '$3'"; }
}
wrong race 1 "race on shared memory in kernel block_sum"
wrong bounds 1 "0 bytes past the end of cudaMalloc"
wrong unwritten 1 "which was never written"
wrong leak 0 "1 allocation of 4000 bytes not freed"

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
