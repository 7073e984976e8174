// Lab 14: sizes for checking and timing the volume-rendering sum.
#include "harness/core/lab.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"
#include "reference/composite_loss_fwd/composite_loss_fwd.h"
#include "reference/depth_l1_bwd/depth_l1_bwd.h"
#include "reference/depth_l1_fwd/depth_l1_fwd.h"
#include "reference/depth_loss_bwd/depth_loss_bwd.h"
#include "reference/depth_loss_fwd/depth_loss_fwd.h"
#include "reference/distortion_bwd/distortion_bwd.h"
#include "reference/distortion_fwd/distortion_fwd.h"
#include "reference/opacity_binary_entropy_bwd/opacity_binary_entropy_bwd.h"
#include "reference/opacity_binary_entropy_fwd/opacity_binary_entropy_fwd.h"
#include "reference/opacity_entropy_bwd/opacity_entropy_bwd.h"
#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"
#include "reference/ray_weights/ray_weights.h"
#include "reference/sample_weights_bwd/sample_weights_bwd.h"
#include "reference/sample_weights_fwd/sample_weights_fwd.h"
#include "reference/total_variation_bwd/total_variation_bwd.h"
#include "reference/total_variation_fwd/total_variation_fwd.h"
#include "reference/variation_points/variation_points.h"
#include "reference/visible_compact/visible_compact.h"
#include "reference/visible_limit/visible_limit.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"
#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"
#include "reference/voxel_sh_narrow_fwd/voxel_sh_narrow_fwd.h"

namespace klab {
namespace {

const std::vector<std::vector<int64_t>> kRaySizes = {{0, 1, 2, 3, 7, 16, 33, 200},
                                                     {0, 1, 2, 5, 31, 32, 33, 64, 257, 1000, 5003}};
const std::vector<BenchShape> kRayBench = {
    {.name = "a training step, mean 32 samples", .shape = {8192, 1 << 18}, .cache = Cache::hot, .tour = true},
    {.name = "short rays, mean 8", .shape = {1 << 15, 1 << 18}, .cache = Cache::hot},
    // A typical batch of `klab train` after the grid has learned which cells are empty.
    {.name = "a trained grid, mean 3", .shape = {10752, 1 << 15}, .cache = Cache::hot},
    {.name = "beyond the caches, mean 32", .shape = {1 << 18, 1 << 23}, .cache = Cache::cold}};

// Fewer rays of the tour's length: halving only the samples would leave rays too short for a warp.
const std::vector<int64_t> kCountedRays = {512, 1 << 14};

// With a ray's loss: Huber, as in the trainer.
const std::vector<std::vector<int64_t>> kLossSizes = {kRaySizes[0], kRaySizes[1], {0, 1, 2}};
const std::vector<BenchShape> kLossBench = {
    {.name = "a training step, mean 32 samples", .shape = {8192, 1 << 18, 1}, .cache = Cache::hot},
    {.name = "short rays, mean 8", .shape = {1 << 15, 1 << 18, 1}, .cache = Cache::hot, .tour = true},
    // A typical batch of `klab train`, see above.
    {.name = "a trained grid, mean 3", .shape = {10752, 1 << 15, 1}, .cache = Cache::hot},
    {.name = "beyond the caches, mean 32", .shape = {1 << 18, 1 << 23, 1}, .cache = Cache::cold}};

const std::vector<std::vector<int64_t>> kPixelSizes = {{0, 1, 2, 3, 15, 16, 17, 33, 100, 1000, 40001},
                                                       {0, 1, 2}};
const std::vector<BenchShape> kPixelBench = {
    {.name = "Huber, a training step", .shape = {8192, 1}, .cache = Cache::hot},
    {.name = "Huber, beyond the caches", .shape = {1 << 22, 1}, .cache = Cache::cold, .tour = true}};

const std::vector<BenchShape> kPairsBench = {{.name = "a training step, mean 32 samples",
                                              .shape = {8192, 1 << 18},
                                              .cache = Cache::hot,
                                              .tour = true}};
const std::vector<BenchShape> kEntropyBench = {
    {.name = "a training step", .shape = {8192}, .cache = Cache::hot, .tour = true}};

// Many rays, long ones, and enough rays of a few hundred samples that a systematic error shows.
const std::vector<std::vector<int64_t>> kRayBeyond = {
    {(1 << 20) + 1, 5000}, {(1 << 16) + 1, 1 << 17}, {64, 20000}, {3, (1 << 20) + 1}};
const std::vector<std::vector<int64_t>> kLossBeyond = {
    {(1 << 20) + 1, 5000, 0}, {(1 << 16) + 1, 1 << 17, 1}, {64, 20000, 2}, {3, (1 << 20) + 1, 0}};
// The reference computes all pairs of a ray, so no ray is long.
const std::vector<std::vector<int64_t>> kPairsBeyond = {
    {(1 << 20) + 1, 5000}, {(1 << 16) + 1, 5000}, {2, 3000}};

// Points of a batch, in the rows that pruning leaves of 128³ and 256³ vertices.
const std::vector<BenchShape> kVoxelBench = {
    {.name = "2^17 points, 128^3", .shape = {1 << 17, 128, 1 << 18, 9}, .cache = Cache::hot, .tour = true},
    {.name = "2^17 points, 256^3, beyond the caches",
     .shape = {1 << 17, 256, 1 << 20, 9},
     .cache = Cache::hot},
    {.name = "2^15 points, a coarse grid", .shape = {1 << 15, 32, 1 << 14, 9}, .cache = Cache::hot},
    {.name = "densities only", .shape = {1 << 19, 128, 1 << 18, 0}, .cache = Cache::hot}};
const std::vector<std::vector<int64_t>> kVoxelSizes = {
    {0, 1, 2, 7, 16, 33, 300, 1000}, {1, 2, 8, 16}, {0, 1, 20, 700}, {0, 1, 4, 9}};
const std::vector<std::vector<int64_t>> kVoxelBeyond = {
    {(1 << 16) + 1, 4, 100, 1}, {(1 << 18) + 1, 8, 500, 0}, {5, 64, 1 << 17, 9}};

// The same with numbers in few bits; the last number is the format.
const std::vector<BenchShape> kNarrowBench = {
    {.name = "2^17 points, 128^3, int8",
     .shape = {1 << 17, 128, 1 << 18, 9, 2},
     .cache = Cache::hot,
     .tour = true},
    {.name = "2^17 points, 256^3, int8, beyond the caches",
     .shape = {1 << 17, 256, 1 << 20, 9, 2},
     .cache = Cache::hot},
    {.name = "2^17 points, 128^3, f16", .shape = {1 << 17, 128, 1 << 18, 9, 0}, .cache = Cache::hot}};
const std::vector<std::vector<int64_t>> kNarrowSizes = {
    {0, 1, 2, 7, 16, 33, 300, 1000}, {1, 2, 8, 16}, {0, 1, 20, 700}, {0, 1, 4, 9}, {0, 1, 2}};
const std::vector<std::vector<int64_t>> kNarrowBeyond = {
    {(1 << 16) + 1, 4, 100, 1, 2}, {(1 << 18) + 1, 8, 500, 0, 1}, {5, 64, 1 << 17, 9, 0}};

KLAB_LAB({
    .title = "Volume rendering: a recurrence made parallel",
    .question = "How fast can light be summed along a ray when each sample's share depends on all before it?",
    .ops =
        {{.op = make_op<CompositeFwd>(),
          .bench = kRayBench,
          .check = kRaySizes,
          .counted = {67, 1501},
          .counted_tour = kCountedRays,
          .traffic = Traffic::read,
          .beyond = kRayBeyond},
         {.op = make_op<CompositeBwd>(),
          .bench = kRayBench,
          .check = kRaySizes,
          .counted = {67, 1501},
          .counted_tour = kCountedRays,
          .traffic = Traffic::copy,
          .beyond = kRayBeyond},
         {.op = make_op<PixelLossFwd>(),
          .bench = kPixelBench,
          .check = kPixelSizes,
          .counted = {1001, 1},
          .traffic = Traffic::read,
          .nan_in = {"prediction", "target"}},
         {.op = make_op<PixelLossBwd>(),
          .bench = kPixelBench,
          .check = kPixelSizes,
          .counted = {1001, 1},
          .traffic = Traffic::copy,
          .nan_in = {"d_loss"}},
         {.op = make_op<CompositeLossFwd>(),
          .bench = kLossBench,
          .check = kLossSizes,
          .counted = {67, 1501, 1},
          .counted_tour = {512, 1 << 14, 1},
          .traffic = Traffic::read,
          .beyond = kLossBeyond},
         {.op = make_op<CompositeLossBwd>(),
          .bench = kLossBench,
          .check = kLossSizes,
          .counted = {67, 1501, 1},
          .counted_tour = {512, 1 << 14, 1},
          .traffic = Traffic::copy,
          .beyond = kLossBeyond},
         {.op = make_op<DistortionFwd>(),
          .bench = kPairsBench,
          .check = kRaySizes,
          .counted = {67, 1501},
          .traffic = Traffic::read,
          .beyond = kPairsBeyond},
         {.op = make_op<DistortionBwd>(),
          .bench = kPairsBench,
          .check = kRaySizes,
          .counted = {67, 1501},
          .traffic = Traffic::copy,
          .beyond = kPairsBeyond},
         {.op = make_op<OpacityEntropyFwd>(),
          .bench = kEntropyBench,
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy},
         {.op = make_op<OpacityEntropyBwd>(),
          .bench = kEntropyBench,
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy,
          .nan_in = {"d_loss"},
          .infinity_in = {"d_loss"}},
         {.op = make_op<OpacityBinaryEntropyFwd>(),
          .bench = kEntropyBench,
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy},
         {.op = make_op<OpacityBinaryEntropyBwd>(),
          .bench = kEntropyBench,
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy,
          .nan_in = {"d_loss"},
          .infinity_in = {"d_loss"}},
         {.op = make_op<VisibleLimit>(),
          .bench = {{.name = "10752 rays, 2^16 samples",
                     .shape = {10752, 1 << 16, 1 << 17, 0},
                     .cache = Cache::hot},
                    {.name = "10752 rays, 600,000 samples",
                     .shape = {10752, 600000, 700000, 0},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 1, 2, 7, 64, 65, 300, 1000}, {0, 1, 50, 999, 5000}, {0, 1, 100, 4097, 9000}, {0, 8}},
          .counted = {65, 900, 900, 0},
          .traffic = Traffic::read,
          .beyond = {{65535 * 32 + 33, 50, 100, 0},
                     {(1 << 16) + 1, 50, 100, 8},
                     {7, (1 << 20) + 1, 9000, 0},
                     {7, 50, (1 << 20) + 1, 8},
                     {5, 2000, 340000, (1 << 16) + 5}}},
         {.op = make_op<VisibleCompact>(),
          .bench = {{.name = "10752 rays, 32 rows",
                     .shape = {10752, 32, 1 << 16, 1 << 15, 0, 8},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 1, 2, 7, 64, 65, 300, 1000},
                    {0, 1, 3, 16},
                    {0, 1, 50, 999, 5000},
                    {0, 1, 50, 999, 5000},
                    {0, 3, 8},
                    {0, 5, 8, 15, 16, 1 << 30}},
          .counted = {65, 5, 700, 500, 0, 1000},
          .traffic = Traffic::copy,
          // More rows than 2^8; more rays and samples than 2^16, also of one ray, and a pass that begins behind as many.
          .beyond = {{7, 300, 900, 800, 0, 1 << 30},
                     {(1 << 16) + 1, 2, 100000, 90000, 0, 8},
                     {5, 2, 2000, 340000, (1 << 16) + 5, 700},
                     {5, 2, 100000, 90000, 0, 1 << 30}}},
         {.op = make_op<RayWeights>(),
          .bench =
              {{.name = "10752 rays", .shape = {10752, 384, 1 << 17}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 7, 64, 65, 300, 1000}, {0, 1, 7, 300}, {0, 10, 1000, 100000}},
          .counted = {1500, 9, 9000},
          .traffic = Traffic::read},
         {.op = make_op<DepthLossFwd>(),
          .bench = {{.name = "a training step", .shape = {10752}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy},
         {.op = make_op<DepthLossBwd>(),
          .bench = {{.name = "a training step", .shape = {10752}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy},
         {.op = make_op<DepthL1Fwd>(),
          .bench = {{.name = "a training step", .shape = {10752}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy},
         {.op = make_op<DepthL1Bwd>(),
          .bench = {{.name = "a training step", .shape = {10752}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy,
          .nan_in = {"d_loss"},
          .infinity_in = {"d_loss"}},
         {.op = make_op<SampleWeightsFwd>(),
          .bench =
              {{.name = "a training step", .shape = {10752, 1 << 15}, .cache = Cache::hot, .tour = true}},
          .check = kRaySizes,
          .counted = {67, 1501},
          .traffic = Traffic::copy},
         {.op = make_op<SampleWeightsBwd>(),
          .bench =
              {{.name = "a training step", .shape = {10752, 1 << 15}, .cache = Cache::hot, .tour = true}},
          .check = kRaySizes,
          .counted = {67, 1501},
          .traffic = Traffic::copy},
         {.op = make_op<VariationPoints>(),
          .bench = {{.name = "a training step", .shape = {1024}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy},
         {.op = make_op<TotalVariationFwd>(),
          .bench = {{.name = "a training step", .shape = {1024}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::read},
         {.op = make_op<TotalVariationBwd>(),
          .bench = {{.name = "a training step", .shape = {1024}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 17, 1000}},
          .counted = {1001},
          .traffic = Traffic::copy},
         {.op = make_op<VoxelShFwd>(),
          .bench = kVoxelBench,
          .check = kVoxelSizes,
          .counted = {301, 8, 400, 9},
          .counted_tour = {2048, 16, 4096, 9},
          .traffic = Traffic::read,
          .beyond = kVoxelBeyond,
          .parameters = {"grid", "basis"}},
         {.op = make_op<VoxelShNarrowFwd>(),
          .bench = kNarrowBench,
          .check = kNarrowSizes,
          .counted = {301, 8, 400, 9, 2},
          .counted_tour = {2048, 16, 4096, 9, 2},
          .traffic = Traffic::read,
          .beyond = kNarrowBeyond,
          .parameters = {"grid", "basis", "format"}},
         {.op = make_op<VoxelShBwd>(),
          .bench = kVoxelBench,
          .check = kVoxelSizes,
          .counted = {301, 8, 400, 9},
          .counted_tour = {2048, 16, 4096, 9},
          .traffic = Traffic::update,
          .huge = 1e9,
          .beyond = kVoxelBeyond,
          .parameters = {"grid", "basis"}}},
    .claims = {{.text = "fast exponentials, sums in log space",
                .by = "found in the wild, of GPU versions: fast math",
                .low = 1.2,
                .high = 1.5,
                .variant = "composite_fwd.cpu.04_log_space",
                .over = "composite_fwd.cpu.03_vector_scan"},
               {.text = "exponentials ahead, in parallel",
                .by = "found in the wild, of GPU versions: parallel precompute",
                .low = 1.5,
                .high = 2,
                .variant = "composite_fwd.cpu.02_alpha_first",
                .over = "composite_fwd.cpu.01_serial"},
               {.text = "scan across lanes",
                .by = "found in the wild, of GPU versions: wavefront",
                .low = 2,
                .high = 3,
                .variant = "composite_fwd.cpu.03_vector_scan",
                .over = "composite_fwd.cpu.02_alpha_first"},
               {.text = "shared memory",
                .by = "found in the wild, of GPU versions",
                .low = 1.3,
                .high = 1.8,
                .variant = "composite_fwd.cuda.03_shared_scan",
                .over = "composite_fwd.cuda.01_serial"}},
});

}  // namespace
}  // namespace klab
