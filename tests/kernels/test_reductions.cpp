// The references of window_sum and of the softmax cross-entropy against independent facts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "harness/core/registry.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"
#include "reference/window_sum/window_sum.h"

namespace klab {
namespace {

constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

std::vector<double> draw_reductions(int64_t n, double scale, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<size_t>(n));
  for (double& v : x) v = scale * normal(random);
  return x;
}

struct WindowSums {
  std::vector<double> y, magnitude;
};
WindowSums window_sums(const std::vector<double>& x, int64_t r) {
  WindowSums out{std::vector<double>(x.size()), std::vector<double>(x.size())};
  const WindowSum::Shape shape{int64_t(x.size()), r};
  WindowSum::reference({shape, x.data(), out.y.data()}, {shape, nullptr, out.magnitude.data()});
  return out;
}

TEST(WindowSum, ReferenceMatchesDirectSums) {
  for (const int64_t n : {0, 1, 2, 3, 10, 57, 200})
    for (const int64_t r :
         std::initializer_list<int64_t>{0, 1, 2, 7, 28, 29, 56, 57, 199, 200, 201, 1000, kEndless}) {
      const auto x = draw_reductions(n, 1, uint64_t(n));
      const auto [y, magnitude] = window_sums(x, r);
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0, size = 0;
        for (int64_t j = 0; j < n; ++j) {
          if (std::abs(i - j) > r) continue;
          sum += x[size_t(j)];
          size += std::abs(x[size_t(j)]);
        }
        EXPECT_NEAR(y[size_t(i)], sum, 1e-14 * size) << n << ' ' << r << ' ' << i;
        EXPECT_NEAR(magnitude[size_t(i)], size, 1e-14 * size) << n << ' ' << r << ' ' << i;
      }
    }
}

TEST(WindowSum, ALargeElementLeavesNothingBehind) {
  std::vector<double> x(100, 0.1);
  x[50] = 1e30;
  const auto y = window_sums(x, 3).y;
  for (const size_t i : {46U, 54U, 60U, 90U}) EXPECT_NEAR(y[i], 0.7, 1e-15) << i;
}

// No test size is beyond the range of the radius; a variant may not run over there either.
TEST(WindowSum, EveryVariantAcceptsAHugeRadius) {
  std::vector<float> x(1000), y(1000);
  std::iota(x.begin(), x.end(), 1.0F);  // all partial sums are whole numbers below 2^24
  for (const Variant* v : variants_of("window_sum", "cpu")) {
    const std::vector<int64_t> shape{1000, kEndless};
    const std::vector<void*> pointers{x.data(), y.data()};
    v->bind(shape, pointers)();
    for (const size_t i : {size_t(0), size_t(500), size_t(999)}) EXPECT_EQ(y[i], 500500.0F) << v->id;
  }
}

struct ReductionsGradients {
  std::vector<double> loss, d_logits;
};
ReductionsGradients gradients(const std::vector<double>& logits, const std::vector<int32_t>& labels,
                              const std::vector<double>& d_loss) {
  const int64_t n = int64_t(labels.size()), c = int64_t(logits.size()) / n;
  ReductionsGradients out{std::vector<double>(labels.size()), std::vector<double>(logits.size())};
  std::vector<double> size_loss(labels.size()), size(logits.size());
  SoftmaxXentBwd::reference(
      {{n, c}, logits.data(), labels.data(), d_loss.data(), out.loss.data(), out.d_logits.data()},
      {{n, c}, nullptr, nullptr, nullptr, size_loss.data(), size.data()});
  return out;
}

TEST(SoftmaxXent, EqualLogitsCostTheLogarithmOfTheirNumber) {
  for (const size_t c : {1U, 2U, 10U, 1000U}) {
    const auto out = gradients(std::vector<double>(c, 3.5), {0}, {2});
    EXPECT_NEAR(out.loss[0], std::log(double(c)), 1e-14);
    for (size_t j = 0; j < c; ++j) EXPECT_NEAR(out.d_logits[j], 2 / double(c) - (j == 0 ? 2 : 0), 1e-14);
  }
}

TEST(SoftmaxXent, AConstantAddedToAllLogitsChangesNothing) {
  auto x = draw_reductions(30, 4, 7);
  const auto before = gradients(x, {3, 9, 0}, {1, -2, 0.5});
  for (double& v : x) v += 0x1p20;  // exact enough: 32 bits are left behind the point
  const auto after = gradients(x, {3, 9, 0}, {1, -2, 0.5});
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(before.loss[i], after.loss[i], 1e-8);
  for (size_t k = 0; k < 30; ++k) EXPECT_NEAR(before.d_logits[k], after.d_logits[k], 1e-8);
}

TEST(SoftmaxXent, GradientsOfARowAddUpToZero) {
  const auto out = gradients(draw_reductions(400, 3, 1), {0, 99, 50, 7}, {1, -3, 0.25, 0});
  for (size_t i = 0; i < 4; ++i) {
    const auto* row = out.d_logits.data() + 100 * i;
    EXPECT_NEAR(std::accumulate(row, row + 100, 0.0), 0, 1e-14);
  }
}

TEST(SoftmaxXent, LogitsAtTheEndOfTheRangeGiveFiniteLosses) {
  const auto out = gradients({1.5e38, -1.5e38, 0}, {1}, {1});
  EXPECT_EQ(out.loss[0], 3e38);
  EXPECT_EQ(out.d_logits[0], 1);
  EXPECT_EQ(out.d_logits[1], -1);
  EXPECT_EQ(out.d_logits[2], 0);
}

}  // namespace
}  // namespace klab
