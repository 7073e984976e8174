#!/usr/bin/env bash
# The claims about memory, batches and prefetching: each has a metric, a value and a reason with numbers.
# ctest: long serial
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
export TMPDIR=$tmp
"$klab" claims --run --seed 1 memory_manager batch_rules batched_inference prefetch --json >claims.json 2>err.txt || { cat err.txt; fail "klab claims"; }
python3 - claims.json <<'P' || fail "see above"
import json, re, sys
claims = json.load(open(sys.argv[1]))["claims"]
wanted = ["30 to 50 % less memory", "find the best batch", "trains 20 to 40 % faster", "40 to 60 % faster",
          "utilization of the processor", "in the background is faster", "four or eight workers"]
for words in wanted:
    if not any(words in c["said"] for c in claims):
        sys.exit("nothing is decided about: " + words)
for c in claims:
    if not c["metric"] or any(len(r["values"]) != 1 for r in c["rows"]) or c["seeds"] != [1] or "verdict" in c:
        sys.exit("not one value a condition, of one seed: %s" % c)
    if not re.search(r"\d", c["because"]) or c["source"] not in ("plan", "course"):
        sys.exit("no number or no source: %s" % c)
    print(c["claim"], "-", ", ".join("%s %.3g" % (r["condition"], r["values"][0]) for r in c["rows"]))
# Certain results: a budget that leaves pictures and batch alone saves nothing, and a rule that reads memory is
# given budgets in which it ends at different batches.
saved = next(c["rows"][1]["values"][0] for c in claims if c["claim"] == "memory_manager.less")
if not -0.05 <= saved < 0.8:
    sys.exit("a budget was not kept: %s" % saved)
P
[[ -z $(find "$tmp" -maxdepth 1 -name 'klab_*') ]] || fail "experiments left something behind: $(ls)"
echo ok
