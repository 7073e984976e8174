// Lab 15: sizes for checking and timing the ops of Gaussian splatting.
#include <cmath>

#include "harness/core/lab.h"
#include "reference/gs_antialias_bwd/gs_antialias_bwd.h"
#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"
#include "reference/gs_bin/gs_bin.h"
#include "reference/gs_color_bwd/gs_color_bwd.h"
#include "reference/gs_color_fwd/gs_color_fwd.h"
#include "reference/gs_project_bwd/gs_project_bwd.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"
#include "reference/radix_sort/radix_sort.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {
namespace {

const std::vector<std::vector<int64_t>> kSortSizes = {{0, 1, 2, 7, 31, 32, 33, 255, 256, 257, 1000, 5003},
                                                      {1, 7, 8, 9, 32, 41, 63, 64}};

// The picture is only a parameter of the ops before the pixels: they depend on its side over the focal
// length.
const std::vector<std::vector<int64_t>> kProjectSizes = {
    {0, 1, 2, 7, 15, 16, 17, 33, 100, 1000, 5003}, {1, 64, 400}, {1, 64, 300}, {0, 1}};
const std::vector<BenchShape> kProjectBench = {
    {.name = "50,000 Gaussians", .shape = {50000, 400, 400, 1}, .cache = Cache::hot, .tour = true}};
const std::vector<std::vector<int64_t>> kProjectBeyond = {{(1 << 16) + 1, 400, 400, 1},
                                                          {(1 << 18) + 1, 64, 64, 0}};

const std::vector<std::vector<int64_t>> kColorSizes = {{0, 1, 2, 7, 15, 16, 17, 33, 100, 1000, 5003},
                                                       {0, 1, 2, 3}};
const std::vector<BenchShape> kColorBench = {
    {.name = "50,000 Gaussians, degree 3", .shape = {50000, 3}, .cache = Cache::hot, .tour = true},
    {.name = "50,000 Gaussians, degree 1", .shape = {50000, 1}, .cache = Cache::hot}};
const std::vector<std::vector<int64_t>> kGaussianSizes = {{0, 1, 2, 7, 15, 16, 17, 33, 100, 1000, 5003}};
const std::vector<BenchShape> kGaussianBench = {
    {.name = "50,000 Gaussians", .shape = {50000}, .cache = Cache::hot, .tour = true}};
const std::vector<std::vector<int64_t>> kGaussianBeyond = {{(1 << 16) + 1}, {(1 << 18) + 1}};

const std::vector<std::vector<int64_t>> kColorBeyond = {{(1 << 16) + 1, 3}, {(1 << 18) + 1, 0}};

const std::vector<std::vector<int64_t>> kTileSizes = {
    {0, 1, 2, 17, 100, 1000}, {0, 1, 33, 300, 2000}, {1, 15, 16, 17, 33, 50}, {1, 15, 16, 17, 33, 40}};
const std::vector<BenchShape> kTileBench = {{.name = "50,000 Gaussians, 400x400",
                                             .shape = {50000, 150000, 400, 400},
                                             .cache = Cache::hot,
                                             .tour = true}};

// Lists of a hundred entries, like the tour's, for few tiles: halving all dimensions would leave lists
// without entries.
const std::vector<int64_t> kCountedTiles = {1000, 2500, 80, 64};

const std::vector<std::vector<int64_t>> kPictureSizes = {{1, 2, 10, 11, 12, 15, 16, 17, 33, 50},
                                                         {1, 2, 10, 11, 12, 15, 16, 17, 33, 50}};
const std::vector<BenchShape> kPictureBench = {
    {.name = "400x400", .shape = {400, 400}, .cache = Cache::hot, .tour = true}};

// Work of the busiest rungs, in the units of the cost formulas: a sorting network, every tile and every
// Gaussian, every pixel of a tile and every entry, windows of 121 taps.
double busiest_sort(ShapeView s) { return 1000.0 * double(s[0]); }
double busiest_bin(ShapeView s) {
  const double tiles = std::ceil(double(s[2]) / 16) * std::ceil(double(s[3]) / 16);
  return 20 * tiles * double(s[0]);
}
double busiest_rasterize(ShapeView s) { return 256 * 70.0 * double(s[1]); }
double busiest_similarity(ShapeView s) { return 3 * 121 * 20.0 * double(s[0]) * double(s[1]); }

KLAB_LAB({
    .title = "Gaussian splatting: a scene without a ray",
    .question = "What does a renderer cost that sorts its scene instead of walking through it?",
    .ops = {{.op = make_op<GsProjectFwd>(),
             .bench = kProjectBench,
             .check = kProjectSizes,
             .counted = {1001, 64, 48, 1},
             .traffic = Traffic::copy,
             .beyond = kProjectBeyond,
             .parameters = {"width", "height", "tight"}},
            {.op = make_op<GsProjectBwd>(),
             .bench = kProjectBench,
             .check = kProjectSizes,
             .counted = {1001, 64, 48, 1},
             .traffic = Traffic::copy,
             .huge = 1e9,
             .beyond = kProjectBeyond,
             .parameters = {"width", "height", "tight"}},
            {.op = make_op<GsColorFwd>(),
             .bench = kColorBench,
             .check = kColorSizes,
             .counted = {1001, 3},
             .traffic = Traffic::read,
             .beyond = kColorBeyond,
             .parameters = {"degree"}},
            {.op = make_op<GsColorBwd>(),
             .bench = kColorBench,
             .check = kColorSizes,
             .counted = {1001, 3},
             .traffic = Traffic::copy,
             .beyond = kColorBeyond,
             .parameters = {"degree"}},
            {.op = make_op<GsAntialiasFwd>(),
             .bench = kGaussianBench,
             .check = kGaussianSizes,
             .counted = {1001},
             .traffic = Traffic::copy,
             .beyond = kGaussianBeyond},
            {.op = make_op<GsAntialiasBwd>(),
             .bench = kGaussianBench,
             .check = kGaussianSizes,
             .counted = {1001},
             .traffic = Traffic::copy,
             .huge = 1e9,
             .beyond = kGaussianBeyond},
            {.op = make_op<RadixSort>(),
             .bench =
                 {{.name = "2^22 pairs, 64 bits", .shape = {1 << 22, 64}, .cache = Cache::hot},
                  {.name = "2^20 pairs, 45 bits", .shape = {1 << 20, 45}, .cache = Cache::hot, .tour = true},
                  {.name = "50,000 depths", .shape = {50000, 32}, .cache = Cache::hot}},
             .check = kSortSizes,
             .counted = {5003, 19},
             .counted_tour = {1 << 14, 45},
             .traffic = Traffic::copy,
             .beyond = {{(1 << 20) + 1, 13}, {(1 << 16) + 1, 64}},
             .busiest = busiest_sort,
             .parameters = {"bits"}},
            {.op = make_op<GsBin>(),
             .bench = kTileBench,
             .check = kTileSizes,
             .counted = {301, 900, 90, 70},
             .counted_tour = kCountedTiles,
             .traffic = Traffic::copy,
             .beyond = {{(1 << 16) + 1, 1 << 18, 200, 100},
                        {20, 5000, 5000, 90},
                        {20, 5000, (1 << 21) + 17, 16}},
             .busiest = busiest_bin},
            {.op = make_op<GsRasterizeFwd>(),
             .bench = kTileBench,
             .check = kTileSizes,
             .counted = {301, 900, 90, 70},
             .counted_tour = kCountedTiles,
             .traffic = Traffic::read,
             .beyond = {{(1 << 16) + 1, 3000, 40, 40}, {300, 1500, 900, 20}},
             .busiest = busiest_rasterize},
            {.op = make_op<GsRasterizeBwd>(),
             .bench = kTileBench,
             .check = kTileSizes,
             .counted = {301, 900, 90, 70},
             .counted_tour = kCountedTiles,
             .traffic = Traffic::read,
             .huge = 1e9,
             .beyond = {{(1 << 16) + 1, 3000, 40, 40}, {300, 1500, 900, 20}},
             .busiest = busiest_rasterize},
            {.op = make_op<GsRasterizeAbsBwd>(),
             .bench = kTileBench,
             .check = kTileSizes,
             .counted = {301, 900, 90, 70},
             .counted_tour = kCountedTiles,
             .traffic = Traffic::read,
             .huge = 1e9,
             .beyond = {{(1 << 16) + 1, 3000, 40, 40}, {300, 1500, 900, 20}},
             .busiest = busiest_rasterize},
            {.op = make_op<SsimLossFwd>(),
             .bench = kPictureBench,
             .check = kPictureSizes,
             .counted = {90, 70},
             .traffic = Traffic::read,
             .beyond = {{300, 200}, {(1 << 16) + 1, 2}, {2, (1 << 16) + 1}},
             .busiest = busiest_similarity},
            {.op = make_op<SsimLossBwd>(),
             .bench = kPictureBench,
             .check = kPictureSizes,
             .counted = {90, 70},
             .traffic = Traffic::copy,
             .beyond = {{300, 200}, {(1 << 16) + 1, 2}, {2, (1 << 16) + 1}},
             .busiest = busiest_similarity}},
    .commands = {"splat"},
});

}  // namespace
}  // namespace klab
