// Counts are exact: the counts of transpose and vector_add derived by hand, and other figures computed
// without a GPU from its specification.
#include <gtest/gtest.h>

#include "harness/records/count_hints.h"
#include "harness/records/counts.h"
#include "harness/simt/gpus.h"
#include "harness/simt/occupancy.h"

namespace klab {
namespace {

using simt::Counts;
using simt::Space;

CountedRun counts_row(const std::string& id, std::vector<int64_t> shape) {
  const Variant* v = find_variant(id);
  if (v == nullptr) throw std::logic_error("no variant " + id);
  CountedRun run = count_run(*find_op(v->op), *v, shape, 1);
  EXPECT_TRUE(run.findings.empty()) << id << ": " << run.findings.front().describe();
  EXPECT_EQ(run.error, "");
  return run;
}

Counts of(const CountedRun& run, Space space, bool write) {
  return sum_of(run, [&](const LineCounts& l) { return l.space == space && l.write == write; });
}

double sectors(const Counts& n) { return double(n.sectors) / double(n.requests); }
double conflicts(const Counts& n) { return double(n.conflicts()) / double(n.requests); }

TEST(Counts, NaiveTransposeLoadsFourSectorsAndStoresThirtyTwo) {
  const CountedRun run = counts_row("transpose.cuda.01_naive", {256, 128});
  const Counts loads = of(run, Space::global, false), stores = of(run, Space::global, true);
  EXPECT_EQ(loads.requests, 256 * 128 / 32);
  EXPECT_EQ(loads.lanes, 256 * 128);
  EXPECT_EQ(sectors(loads), 4.0);    // 32 lanes of 4 bytes, side by side: 128 bytes
  EXPECT_EQ(sectors(stores), 32.0);  // a row of 256 floats between neighbors: each lane its own sector
  EXPECT_EQ(stores.ideal_sectors, 4 * stores.requests);
  EXPECT_EQ(of(run, Space::shared, false).requests, 0);
}

TEST(Counts, TilesInSharedMemoryCostConflictsUntilPaddedOrSwizzled) {
  for (const auto& [id, expected] : {std::pair{"transpose.cuda.02_shared_tile", 31.0},
                                     {"transpose.cuda.03_padded", 0.0},
                                     {"transpose.cuda.04_swizzled", 0.0}}) {
    const CountedRun run = counts_row(id, {128, 96});
    EXPECT_EQ(sectors(of(run, Space::global, false)), 4.0) << id;
    EXPECT_EQ(sectors(of(run, Space::global, true)), 4.0) << id;
    EXPECT_EQ(conflicts(of(run, Space::shared, false)), expected) << id;  // a column of the tile is read
    EXPECT_EQ(conflicts(of(run, Space::shared, true)), 0.0) << id;        // a row is written
  }
}

TEST(Counts, SixteenByteAccessesTakeSixteenSectorsARequest) {
  const CountedRun run = counts_row("vector_add.cuda.03_sixteen_bytes", {4 * 1024});
  EXPECT_EQ(sectors(of(run, Space::global, false)), 16.0);  // 32 lanes of 16 bytes: 512 bytes
  EXPECT_EQ(sectors(of(run, Space::global, true)), 16.0);
  EXPECT_EQ(of(run, Space::global, false).requests, 2 * 1024 / 32);
  EXPECT_EQ(run.moved, run.compulsory.bytes);
}

TEST(Counts, OneElementIsOneSectorAndOneLane) {
  const CountedRun run = counts_row("vector_add.cuda.01_one_each", {1});
  const Counts loads = of(run, Space::global, false);
  EXPECT_EQ(loads.requests, 2);
  EXPECT_EQ(loads.lanes, 2);
  EXPECT_EQ(loads.sectors, 2);
}

TEST(Counts, RepeatExactly) {
  for (const char* id : {"transpose.cuda.02_shared_tile", "hashgrid_bwd.cuda.03_warp_aggregated"}) {
    const Variant* v = find_variant(id);
    ASSERT_NE(v, nullptr) << id;
    const LabOp& op = *find_op(v->op);
    const auto shape = shape_for_counting(op);
    EXPECT_EQ(counts_of(count_run(op, *v, shape, 1)), counts_of(count_run(op, *v, shape, 1))) << id;
    // Nor on how many threads of the host run the blocks.
    for (const int threads : {2, 5})
      EXPECT_EQ(counts_of(count_run(op, *v, shape, 1, nullptr, threads)),
                counts_of(count_run(op, *v, shape, 1)))
          << id << " on " << threads << " threads";
  }
}

TEST(Counts, AreStoredInRows) {
  const LabOp& op = *find_op("transpose");
  const Variant* v = find_variant("transpose.cuda.02_shared_tile");
  const std::vector<Row> rows = counted_rows(op, {&v, 1});
  if (rows.empty()) GTEST_SKIP() << "there is a GPU: it is timed";
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_GT(rows.front().counts.at("bank_conflicts"), 0);
  const auto counts = counts_of(counts_row("transpose.cuda.02_shared_tile", {128, 96}));  // whole tiles
  EXPECT_EQ(counts.at("bank_conflicts") * 2,
            counts.at("shared_requests") * 31);  // half of the requests are loads
  EXPECT_EQ(counts.at("global_load_sectors"), 4 * counts.at("global_load_requests"));
  EXPECT_NE(rows.front().skipped, "");
  Recording run{.rows = rows};
  EXPECT_NE(to_csv(run).find("bank_conflicts"), std::string::npos);
}

TEST(Hints, NameTheWasteAndTheRungThatFixesIt) {
  const LabOp& op = *find_op("transpose");
  const CountedRun naive = counts_row("transpose.cuda.01_naive", {256, 256});
  const auto hints = hints_of(op, naive);
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_EQ(hints[0].waste, Waste::store_sectors);
  EXPECT_EQ(hints[0].text, "32.0 sectors/request where 4.0 would do; neighboring lanes are 1024 bytes apart");
  EXPECT_EQ(hints[0].rung, "transpose.cuda.02_shared_tile");
  const auto next = hints_of(op, counts_row("transpose.cuda.02_shared_tile", {256, 256}));
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].waste, Waste::conflicts);
  EXPECT_EQ(next[0].rung, "transpose.cuda.03_padded");
  EXPECT_TRUE(hints_of(op, counts_row("transpose.cuda.03_padded", {256, 256})).empty());
}

/// Worked by hand from the limits of each GPU.
TEST(Occupancy, FollowsTheScarcestResource) {
  const auto on = [](const char* gpu, unsigned threads, int registers, size_t shared) {
    return simt::occupancy(*simt::find_gpu(gpu), threads, registers, shared);
  };
  EXPECT_EQ(on("h100", 256, 32, 0).fraction, 1.0);
  // 64 registers · 32 lanes = 2048 a warp; 65536 / 2048 = 32 of 64 warps.
  EXPECT_EQ(on("a100", 256, 64, 0).fraction, 0.5);
  EXPECT_EQ(on("a100", 256, 64, 0).limits, "registers");
  // 40 · 32 = 1280 a warp; 51 fit, in fours 48: 12 blocks of 4.
  EXPECT_EQ(on("h100", 128, 40, 0).warps, 48);
  // 48 KiB and the system's 1 KiB: three in 164 KiB.
  EXPECT_EQ(on("a100", 256, 32, 48 << 10).blocks, 3);
  EXPECT_EQ(on("a100", 256, 32, 48 << 10).limits, "shared memory");
  // One warp a block, 16 blocks of 48 warps.
  EXPECT_EQ(on("3090", 32, 32, 0).warps, 16);
  EXPECT_EQ(on("3090", 32, 32, 0).limits, "blocks");
  // 255 registers come as 256: 8 warps, and a block has 32.
  EXPECT_EQ(on("h100", 1024, 255, 0).blocks, 0);
  // 1536 threads: one block of 1024, and room for half of another.
  EXPECT_EQ(on("4090", 1024, 32, 0).blocks, 1);
}

TEST(Occupancy, GpusAreFoundByName) {
  ASSERT_NE(simt::find_gpu("RTX 4090"), nullptr);
  EXPECT_EQ(simt::find_gpu("RTX 4090"), simt::find_gpu("4090"));
  EXPECT_EQ(simt::find_gpu("Voodoo"), nullptr);
  EXPECT_EQ(simt::find_gpu(""), nullptr);
}

TEST(Resources, AreParsedFromPtxasOutput) {
  const std::string text =
      "== transpose.cuda.02_shared_tile\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function "
      "'_ZN4klab56_GLOBAL__N__87757279_17_02_shared_tile_cu_5951e38d_319849transposeEPKfPfll' for 'sm_90a'\n"
      "ptxas info    : Function properties for _ZN4klab9transposeEPKfPfll\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem, "
      "376 bytes "
      "cmem[0]\n";
  const auto list = parse_resources(text, "f");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].variant, "transpose.cuda.02_shared_tile");
  EXPECT_EQ(list[0].kernel, "transpose");
  EXPECT_EQ(list[0].target, "sm_90a");
  EXPECT_EQ(list[0].registers, 32);
  EXPECT_EQ(list[0].shared, 4096);
  EXPECT_EQ(list[0].stack, 16);
  EXPECT_EQ(list[0].spill_stores, 8);
  EXPECT_EQ(list[0].spill_loads, 12);

  // 1024 threads of 32 registers and 4 kB: two blocks fill an H100, one block two thirds of a 4090.
  simt::LaunchRecord launch;
  launch.kernel = "transpose";
  launch.block[0] = launch.block[1] = 32;
  launch.block[2] = 1;
  launch.static_shared = 4096;
  const auto needs = needs_of(list[0].variant, {{launch}}, list);
  EXPECT_EQ(needs.at("registers"), 32);
  EXPECT_EQ(needs.at("spilled_bytes"), 20);
  EXPECT_EQ(needs.at("shared_bytes"), 4096);
  EXPECT_EQ(needs.at("occupancy_percent_h100"), 100);
  EXPECT_EQ(needs.at("occupancy_percent_4090"), 67);
  EXPECT_EQ(needs_of("transpose.cuda.01_naive", {{launch}}, list),
            (std::map<std::string, int64_t>{{"shared_bytes", 4096}}));
  EXPECT_TRUE(needs_of("transpose.cpu.01_naive", {}, list).empty());
  EXPECT_TRUE(parse_resources("", "f").empty());
  EXPECT_THROW(parse_resources("ptxas info : Compiling entry function '_Z1fv' for 'sm_90a'\n", "f"),
               std::runtime_error);
}

TEST(Resources, ListThisBuildsKernelsOrGiveAReason) {
  std::string why;
  const auto& list = kernel_resources(&why);
  EXPECT_EQ(list.empty(), !why.empty());
  for (const KernelResources& r : list) EXPECT_NE(find_variant(r.variant), nullptr) << r.variant;
}

}  // namespace
}  // namespace klab
