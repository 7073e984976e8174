#!/usr/bin/env bash
# ctest: slow
# Counts as compiled, where nvcc and nvdisasm exist. Skipped elsewhere; there klab reports that they are missing.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
export NO_COLOR=1
cd "$tmp"

KLAB_NVCC=none "$klab" trace "$root/tests/programs/compiled.cu" >none.txt || fail "without nvcc"
grep -q "as compiled: not known, KLAB_NVCC says none" none.txt || fail "it does not say that nothing is known"
KLAB_NVCC=none "$klab" trace transpose.cuda.02 --shape 64,64 --json >none.json || fail "a variant without nvcc"
grep -q '"missing": "KLAB_NVCC says none"' none.json || fail "its JSON does not say so"

"$klab" trace "$root/tests/programs/compiled.cu" --json >out.json || fail "the program"
python3 - out.json "$root/tests/programs/compiled.cu" <<'P'
import json, sys
text = open(sys.argv[1]).read()
j = json.loads(text[text.index("{"):])
if "missing" in j["as_compiled"]:
    print("skipped:", j["as_compiled"]["missing"])
    sys.exit(77)
source = open(sys.argv[2]).read().split("\n")
def line(word):
    return next(k + 1 for k, l in enumerate(source) if "// " + word in l)
def of(word, access):
    return next(l for l in j["lines"] if l["line"] == line(word) and l["access"] == access)
merged = of("merged", "shared load")
assert merged["requests"] == 16 and merged["wavefronts"] == 16 * 8, merged
# 32 lanes of 16 bytes, 32 bytes apart: 8 lanes a pass would do, 2 share their banks.
assert merged["as_compiled"]["bytes_a_lane"] == [16] and merged["as_compiled"]["requests"] == 4, merged
assert merged["as_compiled"]["wavefronts"] == 4 * 8, merged
hoisted = of("hoisted", "load")
assert hoisted["as_compiled"]["requests"] == 2, hoisted
kept = of("kept", "load")
assert kept["requests"] == 10 and kept["as_compiled"]["requests"] == 10, kept
compiled, written = j["as_compiled"]["nsight"], j["nsight"]
name = "smsp__inst_executed_op_shared_ld_pred_on_any.sum"
assert compiled[name] < written[name], (compiled, written)
print("as compiled:", j["as_compiled"]["by"])
P
code=$?
[[ $code -eq 77 ]] && exit 77
[[ $code -eq 0 ]] || fail "the counts as compiled"

# A rung whose next one is a merge that the compiler makes already.
"$klab" trace matmul.cuda.05 --shape 128,128,16 --json >rung.json || fail "a variant"
python3 - rung.json <<'P' || fail "the counts of a rung as compiled"
import json, sys
j = json.load(open(sys.argv[1]))
loads = [l for l in j["lines"] if l["access"] == "shared load"]
assert len(loads) == 2
for l in loads:
    assert l["bytes_a_lane"] == 4 and l["as_compiled"]["bytes_a_lane"] == [16], l
    assert l["as_compiled"]["requests"] * 4 == l["requests"], l
P
"$klab" trace "$root/tests/programs/compiled.cu" --html page.html >out.txt || fail "the page"
grep -q "as compiled" page.html || fail "the page has no column of what is compiled"
grep -q "of 16 B" out.txt || fail "the table has no widths"
echo "all as it should be"
