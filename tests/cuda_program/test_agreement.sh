#!/usr/bin/env bash
# ctest: slow
# The table of docs/cuda-on-the-host.md, at small sizes: checks the counts that do not depend on the size. With KLAB_FULL=1 the kernels
# run at the sizes that GPUs were measured at, which takes minutes.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
export NO_COLOR=1
programs=$root/tests/programs
full=${KLAB_FULL:-0}
traced() {  # to.json, program, arguments...
  local to=$1 program=$2; shift 2
  "$klab" trace "$programs/$program" --json --seconds 3000 -- "$@" >"$to" || { echo "FAILED: $program"; exit 1; }
}
cd "$tmp"
if [[ $full == 1 ]]; then keys=4194304 n=512 w=4096; else keys=16384 n=128 w=128; fi
traced sort.json agreement/merge_sort.cu $keys sort
traced merge.json agreement/merge_sort.cu $keys merge
traced product.json agreement/tensor_product.cu $n
traced transpose.json transpose.cu $w $w
python3 - "$keys" "$n" "$w" "$full" <<'P' || { echo "FAILED"; exit 1; }
import json, sys
keys, n, w, full = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "1"
def read(name):
    text = open(name).read()
    return json.loads(text[text.index("{"):])
def total(j, field, wanted, compiled=False):
    return sum((l.get("as_compiled") or l)[field] if compiled else l[field] for l in j["lines"] if wanted(l))
def shared(l): return l["access"].startswith("shared")
def of_global(l): return not shared(l)
sort, merge = read("sort.json"), read("merge.json")
warps = keys // 64
requests, wavefronts = total(sort, "requests", shared), total(sort, "wavefronts", shared)
assert requests == 198 * warps, (requests, warps)  # 12,976,128 of 2^22 keys
assert total(sort, "sectors", of_global) == keys // 2
# The keys are the first of the same row of random numbers: the ratio hardly depends on how many.
assert abs(wavefronts / requests - 20866532 / 12976128) < 0.01 * wavefronts / requests, wavefronts / requests
if full: assert wavefronts == 20866532, wavefronts
sectors, written = total(merge, "sectors", of_global), total(merge, "wavefronts", shared)
compiled = total(merge, "wavefronts", shared, True)
if full: assert sectors == 2593596, sectors
if full and "by" in merge["as_compiled"]: assert compiled == 4277086, compiled
assert compiled <= written, (compiled, written)
print("sort:", requests, "requests,", wavefronts, "wavefronts; merge:", sectors, "sectors,", written, "wavefronts as written,", compiled, "as compiled")

product = read("product.json")
tiles = (n // 128) ** 2
loads = total(product, "sectors", lambda l: l["access"] == "load")
assert loads == tiles * (2 * 128 * n * 2 // 32 + 128 * 128 * 4 // 32), loads
at_4096 = 32 * 32 * (2 * 128 * 4096 * 2 // 32 + 128 * 128 * 4 // 32)
assert at_4096 == 69206016, at_4096

transpose = read("transpose.json")
requests = w * w // 32
stores = sorted(l["sectors"] / l["requests"] for l in transpose["lines"] if l["access"] == "store")
assert stores == [4, 4, 32], stores  # the two tiled ones share their line
assert all(l["requests"] % requests == 0 for l in transpose["lines"])
if full: assert requests == 524288 and 32 * requests == 16777216
P
echo "all as it should be"
