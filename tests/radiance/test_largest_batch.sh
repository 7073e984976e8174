#!/usr/bin/env bash
# The claim about batches in half precision: peaks of processes, three kinds of them, values that fit together.
# ctest: long
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
export TMPDIR=$tmp
"$klab" claims --run --seed 1 largest_batch --json >claims.json 2>err.txt || { cat err.txt; fail "klab claims"; }
python3 - claims.json <<'P' || fail "see above"
import json, sys
claims = {c["claim"]: {r["condition"].split(":")[0]: r["values"][0] for r in c["rows"]} for c in json.load(open(sys.argv[1]))["claims"]}
print(claims)
times, share = claims["largest_batch.doubles"], claims["largest_batch.halves"]
few, many = "a picture, few pixels at a time", "a picture, many pixels at a time"
if not (len(times) == len(share) == 3 and all(1 / 8 <= t <= 8 for t in times.values())):
    sys.exit("not three processes")
# A table in halves leaves room for pixels, and the more of them there were, the fewer times as many.
if not (times[few] > times[many] >= 1 and share[few] < 1):
    sys.exit("a table of half the size leaves no room")
# A training keeps masters and moments in float.
if not (share["a training"] > 0.6 and times["a training"] < 2):
    sys.exit("a training has half of the memory")
P
[[ -z $(find "$tmp" -maxdepth 1 -name 'klab_*') ]] || fail "the experiment left something behind: $(ls)"
echo ok
