// Lab 08: sizes at which optimizer steps, and the ops between a network's matrix products, are checked and
// timed.
#include "harness/core/lab.h"
#include "reference/activation_bwd/activation_bwd.h"
#include "reference/activation_fwd/activation_fwd.h"
#include "reference/adam/adam.h"
#include "reference/adamw/adamw.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"
#include "reference/bias_add_fwd/bias_add_fwd.h"
#include "reference/momentum/momentum.h"
#include "reference/nadam/nadam.h"
#include "reference/nesterov/nesterov.h"
#include "reference/sgd/sgd.h"

namespace klab {
namespace {

// The ops between the matrix products of a network.
const std::vector<BenchShape> kBiases = {
    {.name = "behind a matrix product", .shape = {8192, 1024, 1}, .cache = Cache::cold, .tour = true},
    {.name = "images 28², 64 channels", .shape = {32, 64, 784}, .cache = Cache::cold}};
const std::vector<std::vector<int64_t>> kBiasSizes = {
    {0, 1, 2, 3, 8, 33, 257}, {0, 1, 2, 3, 7, 10, 16, 17, 33, 64, 1025}, {1, 2, 4, 9, 49, 784}};
const std::vector<BenchShape> kActivations = {
    {.name = "gelu", .shape = {1 << 23, activation::gelu}, .cache = Cache::cold},
    {.name = "relu", .shape = {1 << 23, activation::relu}, .cache = Cache::cold, .tour = true},
    {.name = "tanh in L2", .shape = {1 << 16, activation::tanh}, .cache = Cache::hot}};
const std::vector<std::vector<int64_t>> kActivationSizes = {
    {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000, 4099, 40000, 1100003}, {0, 1, 2, 3, 4, 5}};

/// Uses a block per run of a channel, whose threads do not synchronize; or a block per channel.
double block_per_run(ShapeView s) { return 1024.0 * double(s[0]) * double(s[1]); }
double block_per_channel(ShapeView s) { return 5120.0 * double(s[1]); }

// n parameters in a number of tensors; momentum: corrected
const std::vector<BenchShape> kSteps = {
    {.name = "64 tensors of 131,072", .shape = {1 << 23, 64}, .cache = Cache::cold, .tour = true},
    {.name = "8 tensors in L2", .shape = {1 << 15, 8}, .cache = Cache::hot},
    {.name = "a thousand small tensors", .shape = {1 << 20, 1024}, .cache = Cache::cold}};
const std::vector<std::vector<int64_t>> kStepSizes = {
    {0, 1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 33, 64, 100, 1000, 1023, 1025, 4099, 40000}, {1, 2, 3, 7, 64}};

// Returns the list with one more dimension at the end of each shape.
std::vector<BenchShape> with(std::vector<BenchShape> list, int64_t value) {
  for (BenchShape& b : list) b.shape.push_back(value);
  return list;
}

template <class Contract>
LabOp step_of() {
  return {.op = make_op<Contract>(),
          .bench = kSteps,
          .check = kStepSizes,
          .counted = {4099, 3},
          .traffic = Traffic::update};
}

KLAB_LAB({
    .title = "Gradients and optimizers: where a step comes from, and what it moves",
    .question = "How is a gradient made, and how fast can millions of parameters take one step along it?",
    .ops =
        {{
             .op = make_op<Adam>(),
             .bench =
                 {{.name = "hash table, dense, pairs",
                   .shape = {1 << 23, 2, 0},
                   .cache = Cache::cold,
                   .tour = true},
                  {.name = "hash table, 90 % zero, pairs", .shape = {1 << 23, 2, 90}, .cache = Cache::cold},
                  {.name = "hash table, 99 % zero, pairs", .shape = {1 << 23, 2, 99}, .cache = Cache::cold},
                  {.name = "in L3, dense, pairs", .shape = {1 << 20, 2, 0}, .cache = Cache::hot},
                  {.name = "matrix in L2", .shape = {8192, 8192, 0}, .cache = Cache::hot}},
             .check = {{0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 1000, 4099, 40000},
                       {1, 2, 3, 4, 5, 8, 16, 32, 100, 20000},
                       {0, 50, 90, 100}},
             .counted = {4099, 2, 50},
             .traffic = Traffic::update,
             .nan_in = {"gradient"},
             .infinity_in = {"gradient"},
         },
         step_of<Sgd>(),
         {.op = make_op<Momentum>(),
          .bench = with(kSteps, 1),
          .check = {kStepSizes[0], kStepSizes[1], {0, 1}},
          .counted = {4099, 3, 1},
          .traffic = Traffic::update},
         step_of<Nesterov>(),
         step_of<Adamw>(),
         step_of<Nadam>(),
         {.op = make_op<BiasAddFwd>(),
          .bench = kBiases,
          .check = kBiasSizes,
          .counted = {3, 33, 196},
          .traffic = Traffic::copy,
          .busiest = block_per_run},
         {.op = make_op<BiasAddBwd>(),
          .bench = kBiases,
          .check = kBiasSizes,
          .counted = {3, 33, 121},
          .traffic = Traffic::read,
          .busiest = block_per_channel},
         {.op = make_op<ActivationFwd>(),
          .bench = kActivations,
          .check = kActivationSizes,
          .counted = {4099, activation::gelu},
          .traffic = Traffic::copy,
          .parameters = {"kind"}},
         {.op = make_op<ActivationBwd>(),
          .bench = kActivations,
          .check = kActivationSizes,
          .counted = {4099, activation::gelu},
          .traffic = Traffic::copy,
          .parameters = {"kind"}}},
    .commands = {"autodiff", "classify"},
});

}  // namespace
}  // namespace klab
