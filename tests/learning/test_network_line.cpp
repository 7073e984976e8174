// Networks from one line: layers in order, shapes, borders, and errors that name the layer.
// ctest: sanitized-ops
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "labs/learning/data/loader.h"
#include "labs/learning/network/loss.h"
#include "labs/learning/network/models.h"
#include "labs/learning/network/schedule.h"
#include "labs/learning/train/trainer.h"
#include "labs/radiance/train/backends.h"
#include "tests/core/message_of.h"
#include "tests/learning/naive_plan.h"

namespace klab::learning {
namespace {

TEST(NetworkLine, BuildsLeNetWithAReluWhereNoneIsNamed) {
  const auto net = make_model("conv 6 5, pool, conv 16 5, pool, 120, 84, 10", {1, 28, 28}, 10);
  std::string kinds;
  for (const auto& m : net->modules()) kinds += m->name() + " ";
  EXPECT_EQ(kinds, "conv1 relu1 pool1 conv2 relu2 pool2 linear1 relu3 linear2 relu4 linear3 ");
  net->build(2, 1);
  EXPECT_EQ(net->parameters().count(),
            156 + 2416 + 30840 + 10164 + 850);  // LeCun et al. 1998, for 16 channels of 4x4
  const auto norms = make_model(
      "conv 4 3 pad 1, batchnorm, tanh, pool 4, dropout 0.5, linear 7, none, layernorm, 3", {1, 8, 8}, 3);
  kinds.clear();
  for (const auto& m : norms->modules()) kinds += m->name() + " ";
  EXPECT_EQ(kinds, "conv1 batchnorm1 tanh1 pool1 dropout1 linear1 layernorm1 linear2 ");
}

TEST(NetworkLine, WindowsHaveStridesAndAverages) {
  const auto net = make_model("conv 4 3 stride 2 pad 1, avgpool 3 stride 1, pool stride 1, 3", {2, 9, 9}, 3);
  std::string text;
  for (const LayerSummary& l : summary_of(*net)) text += l.name + l.out + std::to_string(l.parameters) + " ";
  EXPECT_EQ(text, "conv1[4,5,5]76 relu1[4,5,5]0 avgpool1[4,3,3]0 pool1[4,2,2]0 linear1[3]51 ");
  net->build(1, 1);
  const Plan plan = naive_plan(net->calls());
  Profile profile;
  // In images of ones, a convolution of ones with a rim of zeros counts the pixels under its window.
  for (const Tensor& t : net->parameters().tensors())
    if (t.name == "conv1.weight") std::fill_n(t.value, t.size(), 1.0F);
  const std::vector<float> ones(2 * 9 * 9, 1.0F);
  RunOps ops(net->memory());
  net->write(ones.data());
  ops.run("forward", plan, profile, [&](Ops& o) { net->forward({o}); });
  const std::span<float> counted = net->values(1), averages = net->values(2), largest = net->values(3);
  EXPECT_EQ(counted[0], 8);   // a corner: 2x2 pixels of two channels
  EXPECT_EQ(counted[1], 12);  // a side
  EXPECT_EQ(counted[6], 18);
  EXPECT_NEAR(averages[0], (8 + 4 * 12 + 4 * 18) / 9.0, 1e-5);
  EXPECT_NEAR(averages[1], (3 * 12 + 6 * 18) / 9.0, 1e-5);
  EXPECT_NEAR(largest[0], 18, 1e-5);
}

TEST(NetworkLine, BordersContinueThePicture) {
  const auto net = make_model("conv 1 3 pad 1 reflect, none, pool 2 stride 1 pad 1 mean, 3", {1, 3, 3}, 3);
  std::string text;
  for (const LayerSummary& l : summary_of(*net)) text += l.name + l.out + std::to_string(l.parameters) + " ";
  EXPECT_EQ(text, "conv1[1,3,3]10 pool1[1,4,4]0 linear1[3]51 ");
  net->build(1, 1);
  const Plan plan = naive_plan(net->calls());
  Profile profile;
  for (const Tensor& t : net->parameters().tensors())
    if (t.name == "conv1.weight") std::fill_n(t.value, t.size(), 1.0F);
  const std::vector<float> picture = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  RunOps ops(net->memory());
  net->write(picture.data());
  ops.run("forward", plan, profile, [&](Ops& o) { net->forward({o}); });
  const std::span<float> sums = net->values(0), largest = net->values(1);
  EXPECT_EQ(sums[0], 1 + 4 * 5 + 2 * (2 + 4));  // 5 4 5 / 2 1 2 / 5 4 5
  EXPECT_EQ(sums[4], 45);
  EXPECT_EQ(largest[0], 45);  // a corner: three means, as sums are symmetric around the middle, and sums[0]
  // Every place of a window of ones shows a pixel: the picture gets nine times what the sums get.
  std::ranges::fill(net->values(2), 1.0F);
  ops.run("backward", plan, profile, [&](Ops& o) { net->backward({o}, net->output()); });
  double outer = 0, inner = 0;
  for (int k = 0; k < 9; ++k) {
    outer += double(net->gradients(1)[size_t(k)]);
    inner += double(net->gradients(0)[size_t(k)]);
  }
  EXPECT_NE(outer, 0);
  EXPECT_NEAR(inner, 9 * outer, 1e-3 * std::abs(outer));
  // The pool's own padding is left out of a maximum, zeros take part in it.
  const auto pools = make_model("pool 2 pad 1, 1", {1, 2, 2}, 1),
             zeros = make_model("pool 2 pad 1 zeros, 1", {1, 2, 2}, 1);
  const std::vector<float> negative = {-1, -2, -3, -4};
  for (const auto& [model, at, corner] : {std::tuple(pools.get(), 0, -1.0F), {zeros.get(), 1, 0.0F}}) {
    model->build(1, 1);
    const Plan its = naive_plan(model->calls());
    RunOps each(model->memory());
    model->write(negative.data());
    each.run("forward", its, profile, [&, one = model](Ops& o) { one->forward({o}); });
    EXPECT_EQ(model->values(size_t(at))[0], corner);
  }
}

TEST(NetworkLine, ErrorsNameTheLayer) {
  const auto error = [](const std::string& line) {
    return message_of([&] { network_of(line, {1, 8, 8}, 10); });
  };
  EXPECT_TRUE(has(error("conv 6 5, bool, 10"), "layer 2 of the network, \"bool\", is unknown"));
  EXPECT_TRUE(has(error("conv 6, 10"), "layer 1 of the network, \"conv 6\", lacks the side of its kernels"));
  EXPECT_TRUE(has(error("conv 6 9, 10"), "layer 1 of the network, \"conv 6 9\", does not fit"));
  EXPECT_TRUE(has(error("pool 2, pool 2, pool 2, pool 2, 10"), "layer 4"));
  EXPECT_TRUE(has(error("120, 84"), "the data have 10 classes: end the network with 10"));
  EXPECT_TRUE(has(error("10, relu"), "layer 2"));
  EXPECT_TRUE(has(error("dropout 1, 10"), "probability: a number from 0 to 0.99"));
  EXPECT_TRUE(has(error("12.5, 10"), "whole number"));
  EXPECT_TRUE(has(error("5, , 10"), "layer 2"));
  EXPECT_TRUE(has(error("pool 2 3, 10"), "which it does not take"));
  EXPECT_TRUE(has(error("conv 6 3 stride, 10"), "lacks its stride"));
  EXPECT_TRUE(has(error("conv 6 3 pad 1 pad 1, 10"), "which it does not take"));
  EXPECT_TRUE(has(error("avgpool 3 stride 0, 10"), "\"0\" for its stride"));
  EXPECT_TRUE(has(error("conv 6 3 pad 1 mirror, 10"), "\"mirror\" for its border: zeros, replicate"));
  EXPECT_TRUE(has(error("pool 2 pad 2, 10"), "layer 1 of the network, \"pool 2 pad 2\", has a padding of 2"));
  EXPECT_TRUE(
      has(error("conv 6 8 pad 7, pool 9, conv 6 3 pad 2 reflect, 10"), "at least 3 rows and columns"));
  EXPECT_TRUE(has(error("16, stride 2, 10"), "layer 2 of the network, \"stride 2\", is unknown"));
}

}  // namespace
}  // namespace klab::learning
