// The network of lab 12: known values in every variant, layout, kinks, threads.
// ctest: sanitized-ops
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "harness/core/registry.h"
#include "reference/generator.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

using Shape = MlpFwd::Shape;
using MlpFloats = std::vector<float>;
constexpr float kPoisonMlp = std::numeric_limits<float>::quiet_NaN();

std::array<int64_t, 6> view_mlp(const Shape& s) { return {s.n, s.in, s.width, s.hidden, s.out, s.logistic}; }

std::vector<const Variant*> runnable_mlp(const std::string& op, const Shape& shape) {
  std::vector<const Variant*> found;
  for (const Variant* v : variants_of(op))
    if (v->backend == "cpu" && v->supported(view_mlp(shape), {.threads = omp_get_max_threads()}).empty())
      found.push_back(v);
  return found;
}

MlpFloats forward(const Variant& v, const Shape& shape, MlpFloats x, MlpFloats weights) {
  MlpFloats y(size_t(shape.out * shape.n), kPoisonMlp);
  std::array<void*, 3> pointers = {x.data(), weights.data(), y.data()};
  v.bind(view_mlp(shape), pointers)();
  return y;
}

struct Gradients {
  MlpFloats d_x, d_weights;
};

Gradients backward(const Variant& v, const Shape& shape, MlpFloats x, MlpFloats weights, MlpFloats d_y,
                   float before = 0) {
  Gradients g{MlpFloats(x.size(), kPoisonMlp), MlpFloats(weights.size(), before)};
  std::array<void*, 5> pointers = {x.data(), weights.data(), d_y.data(), g.d_x.data(), g.d_weights.data()};
  v.bind(view_mlp(shape), pointers)();
  return g;
}

TEST(MlpLayout, LayersFollowEachOther) {
  const Shape color{.n = 1, .in = 32, .width = 64, .hidden = 2, .out = 3, .logistic = 1};
  EXPECT_EQ(color.weight_begin(0), 0);
  EXPECT_EQ(color.weight_begin(1), 64 * 32);
  EXPECT_EQ(color.weight_begin(2), 64 * 32 + 64 * 64);
  EXPECT_EQ(color.weights(), 64 * 32 + 64 * 64 + 3 * 64);
  const Shape density{.n = 10, .in = 32, .width = 64, .hidden = 1, .out = 16, .logistic = 0};
  EXPECT_EQ(density.weight_begin(1), 64 * 32);
  EXPECT_EQ(density.weights(), 64 * 32 + 16 * 64);
  EXPECT_EQ(MlpFwd::cost(density).flops, 2.0 * 3072 * 10);
  EXPECT_EQ(MlpFwd::cost(density).bytes, 4.0 * (10 * 48 + 3072));
  EXPECT_EQ(MlpBwd::cost(density).flops, 4.0 * 3072 * 10);
}

TEST(MlpForward, IdentityWeightsGiveTheReluOfTheInput) {
  const Shape s{.n = 3, .in = 2, .width = 2, .hidden = 1, .out = 2, .logistic = 0};
  for (const Variant* v : runnable_mlp("mlp_fwd", s)) {
    SCOPED_TRACE(v->id);
    EXPECT_EQ(forward(*v, s, {3, -2, 0.5F, -1, 4, -0.25F}, {1, 0, 0, 1, 1, 0, 0, 1}),
              (MlpFloats{3, 0, 0.5F, 0, 4, 0}));
  }
}

TEST(MlpForward, DeepChainOfOneUnit) {
  const Shape s{.n = 2, .in = 1, .width = 1, .hidden = 3, .out = 1, .logistic = 0};
  for (const Variant* v : runnable_mlp("mlp_fwd", s)) {
    SCOPED_TRACE(v->id);
    EXPECT_EQ(forward(*v, s, {1, -1}, {2, 3, 4, -5}), (MlpFloats{-120, 0}));
  }
}

TEST(MlpForward, LogisticOfKnownPointsAndFarBeyondThem) {
  const Shape s{.n = 5, .in = 2, .width = 2, .hidden = 1, .out = 1, .logistic = 1};
  for (const Variant* v : runnable_mlp("mlp_fwd", s)) {
    SCOPED_TRACE(v->id);  // y = s(relu(x_0) - relu(x_1))
    const MlpFloats y = forward(*v, s, {0, 3, 0, 4096, 0, 0, 0, 3, 0, 4096}, {1, 0, 0, 1, 1, -1});
    EXPECT_NEAR(y[0], 0.5, 1e-7);
    EXPECT_NEAR(y[1], 0.95257412682243336, 2e-7);
    EXPECT_NEAR(y[2], 0.04742587317756678, 2e-7);
    EXPECT_NEAR(y[3], 1, 1e-7);
    EXPECT_NEAR(y[4], 0, 1e-30);
  }
}

TEST(MlpForward, PropagatesNaN) {
  for (const int64_t logistic : {0, 1}) {
    const Shape s{.n = 70, .in = 3, .width = 7, .hidden = 2, .out = 2, .logistic = logistic};
    for (const Variant* v : runnable_mlp("mlp_fwd", s)) {
      if (v->peer) continue;
      SCOPED_TRACE(v->id);
      MlpFloats x(size_t(s.in * s.n), 1.0F);
      x[size_t(s.n) + 5] = kPoisonMlp;
      const MlpFloats y = forward(*v, s, x, MlpFloats(size_t(s.weights()), 0.5F));
      for (int64_t i = 0; i < s.n; ++i) EXPECT_EQ(std::isnan(y[size_t(i)]), i == 5) << "sample " << i;
    }
  }
}

// z = (1,5), h = (1,5), y = -17 for the first sample; z = (-1,4), h = (0,4), y = -16 for the second. All of it
// exact in float and in bfloat16.
constexpr Shape kWorked{.n = 2, .in = 2, .width = 2, .hidden = 1, .out = 1, .logistic = 0};
const MlpFloats kWorkedX = {2, 1, 1, 2}, kWorkedWeights = {1, -1, 2, 1, 3, -4};

TEST(MlpForward, WorkedExample) {
  for (const Variant* v : runnable_mlp("mlp_fwd", kWorked))
    EXPECT_EQ(forward(*v, kWorked, kWorkedX, kWorkedWeights), (MlpFloats{-17, -16})) << v->id;
}

TEST(MlpBackward, WorkedExample) {
  for (const Variant* v : runnable_mlp("mlp_bwd", kWorked)) {
    SCOPED_TRACE(v->id);
    const Gradients g = backward(*v, kWorked, kWorkedX, kWorkedWeights, {1, 2}, 100);
    EXPECT_EQ(g.d_x, (MlpFloats{-5, -16, -7, -8}));
    EXPECT_EQ(g.d_weights, (MlpFloats{106, 103, 100 - 16, 100 - 20, 101, 113}));
  }
}

TEST(MlpBackward, DeadUnitsPassNoGradient) {
  const Shape s{.n = 67, .in = 5, .width = 9, .hidden = 2, .out = 3, .logistic = 0};
  MlpFloats weights(size_t(s.weights()), 1.0F);
  std::fill_n(weights.begin(), s.weight_begin(1), -1.0F);  // positive inputs: the first layer is dead
  for (const Variant* v : runnable_mlp("mlp_bwd", s)) {
    SCOPED_TRACE(v->id);
    const Gradients g = backward(*v, s, MlpFloats(size_t(s.in * s.n), 2.0F), weights,
                                 MlpFloats(size_t(s.out * s.n), 1.0F), 7);
    EXPECT_EQ(g.d_x, MlpFloats(size_t(s.in * s.n), 0.0F));
    EXPECT_EQ(g.d_weights, MlpFloats(weights.size(), 7.0F));
  }
}

TEST(MlpBackward, LogisticSlopeAtZeroIsAQuarter) {
  const Shape s{.n = 1, .in = 1, .width = 2, .hidden = 1, .out = 1, .logistic = 1};
  for (const Variant* v : runnable_mlp("mlp_bwd", s)) {
    SCOPED_TRACE(v->id);  // h = (2, 2), z = 2 - 2 = 0
    const Gradients g = backward(*v, s, {2}, {1, 1, 1, -1}, {8});
    EXPECT_NEAR(g.d_weights[2], 4, 2e-6);
    EXPECT_NEAR(g.d_weights[0], 4, 2e-6);
    EXPECT_NEAR(g.d_weights[1], -4, 2e-6);
    EXPECT_NEAR(g.d_x[0], 0, 2e-6);
  }
}

// arrange() promises that no sum in front of a ReLU cancels, and that units still differ.
TEST(MlpBackward, ArrangedInputsKeepOffTheKinks) {
  const Shape s{.n = 50, .in = 6, .width = 11, .hidden = 3, .out = 2, .logistic = 1};
  Generator random(5);
  std::normal_distribution<float> normal;
  MlpFloats x(size_t(s.in * s.n)), weights(size_t(s.weights()));
  for (float& v : x) v = normal(random);
  for (float& v : weights) v = normal(random);
  MlpBwd::arrange(
      {.shape = s, .x = x.data(), .weights = weights.data(), .d_y = {}, .d_x = {}, .d_weights = {}}, random);
  int64_t alive = 0, dead = 0;
  for (int64_t i = 0; i < s.n; ++i) {
    std::vector<double> h(size_t(s.in)), next;
    for (int64_t c = 0; c < s.in; ++c) h[size_t(c)] = double(x[size_t(c * s.n + i)]);
    for (int64_t l = 0; l < s.hidden; ++l) {
      next.assign(size_t(s.width), 0.0);
      for (int64_t r = 0; r < s.width; ++r) {
        double z = 0, sum = 0;
        for (int64_t c = 0; c < s.from(l); ++c) {
          const double term = double(weights[size_t(s.weight_begin(l) + r * s.from(l) + c)]) * h[size_t(c)];
          z += term;
          sum += std::abs(term);
        }
        EXPECT_GT(sum, 0);
        EXPECT_NEAR(std::abs(z), sum, 1e-12 * sum) << "sample " << i << " layer " << l << " unit " << r;
        (z > 0 ? alive : dead) += 1;
        next[size_t(r)] = std::max(z, 0.0);
      }
      h.swap(next);
    }
  }
  EXPECT_GT(alive, s.n * s.hidden * s.width / 4);
  EXPECT_GT(dead, s.n * s.hidden * s.width / 4);
}

struct Drawn {
  Shape shape{.n = 1000, .in = 13, .width = 64, .hidden = 2, .out = 5, .logistic = 1};
  MlpFloats x, weights, d_y;
  Drawn()
      : x(size_t(shape.in * shape.n)), weights(size_t(shape.weights())), d_y(size_t(shape.out * shape.n)) {
    Generator random(11);
    std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
    for (MlpFloats* tensor : {&x, &weights, &d_y})
      for (float& v : *tensor) v = uniform(random);
  }
};

TEST(MlpForward, ResultsDoNotDependOnThreads) {
  const Drawn in;
  const int before = omp_get_max_threads();
  const MlpFloats one = forward(*find_variant("mlp_fwd.cpu.04_fused_tile"), in.shape, in.x, in.weights);
  for (const char* id : {"mlp_fwd.cpu.06_threads", "mlp_fwd.cpu.07_prefetch"})
    for (const int threads : {1, 2, 3, 5, 40}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(forward(*find_variant(id), in.shape, in.x, in.weights), one)
          << id << ", " << threads << " threads";
    }
  omp_set_num_threads(before);
}

TEST(MlpBackward, SameThreadsGiveSameBits) {
  const Drawn in;
  const int before = omp_get_max_threads();
  const Gradients one =
      backward(*find_variant("mlp_bwd.cpu.06_simd_tile"), in.shape, in.x, in.weights, in.d_y);
  for (const char* id : {"mlp_bwd.cpu.07_threads", "mlp_bwd.cpu.08_prefetch"})
    for (const int threads : {1, 2, 3, 40}) {
      omp_set_num_threads(threads);
      const Gradients a = backward(*find_variant(id), in.shape, in.x, in.weights, in.d_y);
      const Gradients b = backward(*find_variant(id), in.shape, in.x, in.weights, in.d_y);
      EXPECT_EQ(a.d_weights, b.d_weights) << id << ", " << threads << " threads";
      EXPECT_EQ(a.d_x, one.d_x) << id << ", " << threads << " threads";
      if (threads == 1) EXPECT_EQ(a.d_weights, one.d_weights) << id;
    }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace klab
