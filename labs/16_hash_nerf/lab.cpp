// Lab 16: the trainer. Its variants are plans (klab train --plan), and `klab run hash_nerf` climbs them
// (commands/ladder.cpp). The ops of a step that belong to no other lab are checked here.
#include "harness/core/lab.h"
#include "reference/all_finite/all_finite.h"
#include "reference/axpy/axpy.h"
#include "reference/clip_norm/clip_norm.h"
#include "reference/ema/ema.h"
#include "reference/unscale/unscale.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "A hash-NeRF: the whole, made of the parts",
    .question = "What does each rung do for a program that people use?",
    .ops =
        {{.op = make_op<Axpy>(),
          .bench = {{.name = "a step's samples", .shape = {1 << 15}, .cache = Cache::hot},
                    {.name = "a table of 2^22 entries", .shape = {1 << 22}, .cache = Cache::cold},
                    {.name = "2^20 entries, in L3", .shape = {1 << 20}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 3, 15, 17, 1000, 70001}},
          .counted = {5001},
          .traffic = Traffic::update},
         {.op = make_op<WeightedSum>(),
          .bench = {{.name = "a step's rays", .shape = {10752}, .cache = Cache::hot, .tour = true},
                    {.name = "rays of a step on a GPU", .shape = {1 << 18}, .cache = Cache::hot}},
          .check = {{0, 1, 2, 3, 15, 17, 1000, 70001}},
          .counted = {5001},
          .traffic = Traffic::read},
         {.op = make_op<Ema>(),
          .bench = {{.name = "a table of 2^22 entries", .shape = {1 << 22}, .cache = Cache::cold},
                    {.name = "2^20 entries, in L3", .shape = {1 << 20}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 3, 15, 17, 1000, 70001}},
          .counted = {5001},
          .traffic = Traffic::update},
         {.op = make_op<ClipNorm>(),
          .bench =
              {{.name = "a table of 2^24 entries", .shape = {1 << 24}, .cache = Cache::cold, .tour = true}},
          .check = {{0, 1, 2, 3, 15, 17, 1000, 70001}},
          .counted = {5001},
          .traffic = Traffic::read},
         {.op = make_op<AllFinite>(),
          .bench = {{.name = "a step's features", .shape = {1 << 20}, .cache = Cache::hot, .tour = true},
                    {.name = "beyond the caches", .shape = {1 << 24}, .cache = Cache::cold}},
          .check = {{0, 1, 2, 3, 15, 17, 1000, 70001}},
          .counted = {5001},
          .traffic = Traffic::read},
         {.op = make_op<Unscale>(),
          .bench = {{.name = "a table of 2^22 entries", .shape = {1 << 22}, .cache = Cache::cold},
                    {.name = "2^20 entries, in L3", .shape = {1 << 20}, .cache = Cache::hot, .tour = true}},
          .check = {{0, 1, 2, 3, 15, 17, 1000, 70001}},
          .counted = {5001},
          .traffic = Traffic::update}},
    .commands = {"train", "eval", "render", "watch", "tune", "compare-fields", "hash-study"},
});

}  // namespace
}  // namespace klab
