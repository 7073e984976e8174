#!/usr/bin/env bash
# ctest: slow
# Clusters, multicast, reductions by the copy engine, launches that overlap, and copies of tiles by libcu++'s functions: right programs
# run without a finding and are counted; each wrong version is found at its line.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
export NO_COLOR=1
count_failures
cd "$tmp"
source=$root/tests/programs/clusters.cu
"$build/klab-nvcc" "$source" -o clusters || { echo "clusters.cu cannot be compiled"; exit 1; }

# The right programs, with any order of blocks, warps and lanes.
for seed in 1 2 3 4 5 6 7 8 9 10; do
  KLAB_PROGRAM_SEED=$seed "$klab" trace ./clusters --json >out 2>&1 || { tail -n 25 out; fail "seed $seed: exit code $?"; }
  grep -qF "clusters passed" out || fail "seed $seed: clusters.cu does not say that it passed"
  python3 - <<'P' || fail "seed $seed: findings or counts"
import json
text = open("out").read()
j = json.loads(text[text.index("{"):text.rindex("}") + 1])
assert not j["findings"], j["findings"]
source = open(next(l["file"] for l in j["lines"])).read().splitlines()
def counts(mark, access):
    return next(l for l in j["lines"] if l["access"] == access and f"// at {mark}" in source[l["line"] - 1])
# A tile that is multicast is read once for both blocks: 2 clusters, 5 steps, 2 halves of 512 bytes.
multicast = counts("tile_half_bytes", "copy")
assert (multicast["requests"], multicast["sectors"]) == (20, 320), multicast
# 5 blocks add a tile of 256 bytes each.
added = counts("add_no_fence", "reduction")
assert (added["requests"], added["sectors"]) == (5, 40), added
# The first thread of each of 3 clusters reads a word of each of its 4 blocks.
there = counts("sum_without_sync", "shared load")
assert (there["requests"], there["lanes"]) == (12, 12), there
P
done

# Wrong versions: words of the finding, and a line that has the version's name.
program=clusters
wrong() {  # name, words...
  local name=$1 code=0; shift
  local at=''
  "$klab" trace ./$program --seconds 20 -- "$name" >out 2>&1 || code=$?
  [[ $code -eq 1 ]] || { tail -n 25 out; fail "$name: exit code $code, not 1"; }
  for line in $(grep -nE "// at .*\b$name\b" "$source" | cut -d: -f1); do
    grep -qF "$program.cu:$line:" out && at=$line
  done
  [[ -n $at ]] || { grep -A3 FINDING out; fail "$name: not found at its line"; }
  for word in "$@"; do
    grep -qF -e "$word" out || { grep -A3 FINDING out; fail "$name: no '$word'"; }
  done
}
wrong sum_without_sync "of block ("
wrong sum_block_barrier "of block ("
wrong sum_no_sync_at_end "use after free"
wrong sum_wrong_rank "mapa of rank 4: the cluster has 4 blocks"
wrong sum_writes_peer "race on shared memory"
wrong tile_half_bytes "the bytes that the phase expects (expect_tx) are fewer than those of its copies"
wrong tile_no_cluster_sync
wrong tile_own_empty
wrong tile_wrong_mask "to the blocks of the mask 7: the cluster has 2"
wrong tile_no_sync_at_end
wrong add_no_fence "no fence.proxy.async behind the write"
wrong add_no_wait "cp.async.bulk.wait_group must come first"
wrong add_plain_store "race on global memory"
wrong split_no_wait "missing wait"
wrong split_too_many_bytes "4 bytes that are expected have not come"
wrong split_own_barrier "both must be in the same block"
wrong split_arrive_twice "barrier.cluster.arrive of a thread that has arrived already"
wrong pair_reads_early "griddepcontrol.wait (cudaGridDependencySynchronize) must come first"
wrong pair_never_waits "this launch may begin before that one has ended"
wrong pair_writes_early "this launch may begin before that one has ended"
wrong boxes_no_fence "a bulk copy reads shared memory that"
wrong boxes_source_reused "a bulk copy read at line"
wrong map_not_acquired "no fence.proxy.tensormap::generic.acquire of it behind that"
wrong map_bad_box "tensormap.replace box_dim 257: it must be 1 to 256"

program=tile_copies
source=$root/tests/programs/tile_copies.cu
"$build/klab-nvcc" "$source" -o tile_copies || { echo "tile_copies.cu cannot be compiled"; exit 1; }
for seed in 1 2 3 4 5 6 7 8 9 10; do
  KLAB_PROGRAM_SEED=$seed "$klab" trace ./tile_copies >out 2>&1 || { tail -n 25 out; fail "seed $seed: exit code $?"; }
  grep -qF "tile_copies passed" out || fail "seed $seed: tile_copies.cu does not say that it passed"
  grep -E "FINDING|  note" out && fail "seed $seed: tile_copies.cu has findings"
done
wrong box_no_bytes
wrong box_no_wait
wrong box_no_fence "no fence.proxy.async behind the write"
wrong box_map_of_host "with a tensor map in memory of the host: make it a const __grid_constant__ parameter"
wrong pixels_as_box "with a map of pixels (cuTensorMapEncodeIm2col), and without .im2col"
wrong sums_not_set "an asynchronous reduction in shared memory that nothing has written"
wrong sums_read_early "missing wait"
wrong sums_other_barrier "red.async to the block of rank 0 with a barrier in the block of rank 1"
wrong last_no_complete "mbarrier.arrive.noComplete with the last arrivals of a phase"

program=stream_k
source=$root/tests/programs/stream_k.cu
"$build/klab-nvcc" "$source" -o stream_k || { echo "stream_k.cu cannot be compiled"; exit 1; }
for seed in 1 2 3 4 5 6 7 8 9 10; do
  KLAB_PROGRAM_SEED=$seed "$klab" trace ./stream_k >out 2>&1 || { tail -n 25 out; fail "seed $seed: exit code $?"; }
  grep -qF "stream_k passed" out || fail "seed $seed: stream_k.cu does not say that it passed"
  grep -E "FINDING|  note" out && fail "seed $seed: stream_k.cu has findings"
done
wrong steps_init_not_fenced "barrier.cluster.arrive.relaxed does so only behind fence.mbarrier_init"
wrong steps_release_relaxed
wrong steps_release_of_block
wrong steps_wait_relaxed
wrong steps_wrong_lead "wgmma reads shared memory that"
wrong steps_same_box "this is the same box again"
wrong steps_early_reuse
wrong steps_no_fence "no fence.proxy.async behind the write"
wrong steps_leave_early "which may have ended"
wrong steps_few_registers "a multiple of 8 from 24 to 256 is needed"
wrong back_only_read "cp.async.bulk.wait_group, without .read, must come first"
wrong back_none "cp.async.bulk.wait_group, without .read, must come first"
wrong back_written_early "global memory is written while a bulk copy to it is in flight"
wrong map_by_value "parameters that are not const __grid_constant__"
wrong map_of_frame "the copy engine cannot read local variables"

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
