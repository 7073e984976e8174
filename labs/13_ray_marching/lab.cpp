// Lab 13: sizes for checking and timing the marching through the occupancy grid.
#include "harness/core/lab.h"
#include "reference/draw_rays/draw_rays.h"
#include "reference/error_map_draw/error_map_draw.h"
#include "reference/error_map_learn/error_map_learn.h"
#include "reference/error_map_weigh/error_map_weigh.h"
#include "reference/occupancy_bits/occupancy_bits.h"
#include "reference/occupancy_choose/occupancy_choose.h"
#include "reference/occupancy_place/occupancy_place.h"
#include "reference/occupancy_update/occupancy_update.h"
#include "reference/place_samples/place_samples.h"
#include "reference/ray_march/ray_march.h"
#include "reference/sample_begin/sample_begin.h"
#include "reference/sample_pdf/sample_pdf.h"
#include "reference/spread_samples/spread_samples.h"
#include "reference/voxel_march/voxel_march.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Ray marching: where to look, and where not to",
    .question = "How little work can it be to find the parts of a ray that matter?",
    .ops =
        {{
             .op = make_op<RayMarch>(),
             .bench =
                 {{.name = "8192 rays, 128^3",
                   .shape = {8192, 128, 1, 1024, 1 << 20},
                   .cache = Cache::hot,
                   .tour = true},
                  {.name = "384 candidates, as training has it",
                   .shape = {10752, 128, 1, 384, 1 << 20},
                   .cache = Cache::hot},
                  {.name = "blobs everywhere", .shape = {8192, 64, 1, 256, 1 << 20}, .cache = Cache::hot},
                  {.name = "8192 rays, 3 cascades",
                   .shape = {8192, 128, 3, 1024, 1 << 21},
                   .cache = Cache::hot}},
             .check = {{0, 1, 2, 63, 64, 65, 300},
                       {2, 4, 16, 64, 128},
                       {1, 2, 3},
                       {1, 7, 64, 1024},
                       {0, 1, 100, 5000, 30000}},
             .counted = {65, 16, 2, 64, 1500},
             .counted_tour = {1024, 128, 1, 1024, 1 << 15},
             .traffic = Traffic::copy,
             // More rays than 16 bits count, more samples than that, more room than 2^20 samples. The grids
             // have several blobs, so that not all are empty.
             .beyond = {{(1 << 16) + 1, 16, 1, 3, 1 << 17},
                        {20000, 16, 1, 64, 1 << 19},
                        {2, 128, 3, 1024, (1 << 20) + 1}},
             // At most 1024 candidates for each ray on the lattice that arrange() draws, about a dozen
             // operations each, and the bytes of the grid, which two rungs condense.
             .busiest =
                 [](ShapeView s) {
                   const auto [rays, grid, cascades, most, capacity] = shape_of<RayMarch>(s);
                   return 12.0 * double(std::clamp<int64_t>(most, 64, 1024)) * double(rays) +
                          double(cascades * grid * grid * grid) / 8;
                 },
         },
         {.op = make_op<DrawRays>(),
          .bench = {{.name = "10752 rays of 64 views of 400 x 400",
                     .shape = {10752, 64, 10240000, 0, 0, 1, 1},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 1, 2, 7, 64, 65, 300, 1000},
                    {1, 2, 5},
                    {0, 5, 100, 3000},
                    {0, 5, 100, 3000},
                    {0, 4, 200},
                    {0, 1, 2},
                    {0, 1, 2}},
          .counted = {130, 3, 900, 900, 30, 2, 1},
          .traffic = Traffic::copy,
          .parameters = {"background", "drawn"}},
         {.op = make_op<ErrorMapDraw>(),
          .bench = {{.name = "lists of 100 views of 400 x 400",
                     .shape = {100, 250000, 0, 4096},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{1, 2, 3, 7}, {7, 8, 30, 300}, {0, 700, 20000}, {0, 1, 2, 63, 300, 1025}},
          .counted = {3, 40, 3000, 300},
          .traffic = Traffic::copy,
          .beyond = {{1, (1 << 16) + 1, 0, 5}, {2, 3, 0, (1 << 16) + 1}}},
         {.op = make_op<ErrorMapWeigh>(),
          .bench = {{.name = "10752 rays of 100 views",
                     .shape = {10752, 100, 4096},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 1, 2, 31, 256, 257, 1000}, {1, 2, 5, 100}, {1, 2, 63, 4096}},
          .counted = {130, 3, 300},
          .traffic = Traffic::copy},
         {.op = make_op<ErrorMapLearn>(),
          .bench = {{.name = "10752 rays, a map of 250,000 blocks",
                     .shape = {10752, 250000},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 1, 2, 31, 32, 33, 300, 1000}, {1, 2, 7, 64, 1000}},
          .counted = {130, 40},
          .traffic = Traffic::update},
         {.op = make_op<SampleBegin>(),
          .bench = {{.name = "10752 rays, a first look",
                     .shape = {10752, 0, 8, 1 << 20, 0},
                     .cache = Cache::hot,
                     .tour = true},
                    {.name = "262,145 rays, padded, as training on a GPU has it",
                     .shape = {262145, 0, 8, 1 << 20, 1},
                     .cache = Cache::hot}},
          .check = {{0, 1, 2, 7, 64, 65, 300, 1000}, {0, 8, 24}, {0, 8, 1000}, {0, 10, 1000, 100000}, {0, 1}},
          .counted = {1500, 8, 16, 9000, 1},
          .traffic = Traffic::copy,
          // Many rays; passes that begin far into them; a ray of more samples than 16 bits count.
          .beyond = {{65535 * 32 + 33, 8, 8, 100000, 1},
                     {(1 << 16) + 1, 0, 1000, (1 << 20) + 1, 0},
                     {60, (1 << 16) + 5, 8, 1000, 0},
                     {5, 0, 1 << 20, 1 << 18, 1}},
          .parameters = {"padded"}},
         {.op = make_op<PlaceSamples>(),
          .bench = {{.name = "10752 rays, 2^16 samples",
                     .shape = {10752, 1 << 16, 1 << 17, 0},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 1, 2, 7, 64, 65, 300, 1000}, {0, 1, 50, 999, 5000}, {0, 1, 100, 4097, 9000}, {0, 8}},
          .counted = {65, 700, 900, 8},
          .traffic = Traffic::copy,
          .beyond = {{(1 << 20) + 1, 50, 100, 0},
                     {(1 << 16) + 1, 50, 100, 8},
                     {7, (1 << 20) + 1, 1 << 18, 0},
                     {7, 50, (1 << 20) + 1, 8},
                     {5, 2000, 340000, (1 << 16) + 5}}},
         {.op = make_op<SpreadSamples>(),
          .bench = {{.name = "10752 rays, 2^15 samples",
                     .shape = {10752, 1 << 15, 1 << 17},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 1, 2, 7, 64, 65, 300, 1000}, {0, 1, 50, 999, 5000}, {0, 1, 100, 4097, 9000}},
          .counted = {65, 700, 900},
          .traffic = Traffic::copy,
          .beyond = {{(1 << 20) + 1, 50, 100},
                     {(1 << 16) + 1, 50, 100},
                     {7, (1 << 20) + 1, 1 << 18},
                     {7, 50, (1 << 20) + 1}}},
         {.op = make_op<OccupancyChoose>(),
          .bench = {{.name = "2^17 cells of 128^3",
                     .shape = {1 << 17, 0, 1 << 21, 0},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 8, 16, 1024, 4104, 20000}, {0, 8, 80000}, {1, 4096, 1 << 21}, {0, 1}},
          .counted = {2056, 8, 4096, 0},
          .traffic = Traffic::copy,
          .parameters = {"grid_cells", "all"}},
         {.op = make_op<OccupancyPlace>(),
          .bench = {{.name = "2^15 cells of 128^3",
                     .shape = {1 << 15, 128, 1, 0},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 1, 63, 300, 5000}, {2, 16, 128, 512}, {1, 2, 5}, {0, 7}},
          .counted = {300, 32, 2, 8},
          .traffic = Traffic::copy},
         {.op = make_op<OccupancyUpdate>(),
          .bench = {{.name = "2^17 cells, a quarter looked at",
                     .shape = {1 << 17, 1 << 15, 1},
                     .cache = Cache::hot,
                     .tour = true}},
          .check = {{0, 8, 100, 4100, 9000}, {0, 1, 100, 2049, 4100}, {0, 1}},
          .counted = {2056, 500, 1},
          .traffic = Traffic::update,
          .parameters = {"decays"}},
         {.op = make_op<OccupancyBits>(),
          .bench = {{.name = "128^3", .shape = {1 << 21}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 8, 16, 264, 4096, 70008}},
          .counted = {2056},
          .traffic = Traffic::read},
         {.op = make_op<SamplePdf>(),
          .bench =
              {{.name = "4096 rays, 128 of 64", .shape = {4096, 64, 128}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 31, 65, 300}, {1, 2, 7, 32, 33, 64, 200}, {0, 1, 31, 33, 128}},
          .counted = {65, 33, 70},
          .traffic = Traffic::copy,
          .beyond = {{(1 << 16) + 1, 3, 5}, {3, 4000, (1 << 18) + 1}},
          .busiest =
              [](ShapeView s) {
                return 3.0 * double(s[0]) * double(s[1]) * double(s[2]) + 20.0 * double(s[0]);
              }},
         {.op = make_op<VoxelMarch>(),
          .bench =
              {{.name = "8192 rays, 256^3", .shape = {8192, 256, 1 << 20}, .cache = Cache::hot, .tour = true},
               {.name = "8192 rays, 128^3", .shape = {8192, 128, 1 << 20}, .cache = Cache::hot},
               {.name = "blobs everywhere", .shape = {8192, 64, 1 << 20}, .cache = Cache::hot}},
          .check = {{0, 1, 2, 63, 64, 65, 300}, {2, 4, 8, 16, 64, 128}, {0, 1, 100, 5000, 30000}},
          .counted = {65, 32, 1500},
          .counted_tour = {1024, 256, 1 << 15},
          .traffic = Traffic::copy,
          .beyond = {{(1 << 16) + 1, 4, 1 << 17}, {300, 256, (1 << 20) + 1}},
          .busiest =
              [](ShapeView s) {
                const auto [rays, grid, capacity] = shape_of<VoxelMarch>(s);
                return 60.0 * double(grid) * double(rays) + double(grid * grid * grid) / 8;
              }}},
});

}  // namespace
}  // namespace klab
