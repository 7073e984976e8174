// ctest: sanitized-ops
// The exponential of the kernels, over its whole range and on every instruction set of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/test_exp.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

enum { kSaturated, kMinus, kFull, kOneMinus };

void apply(int which, const float* x, float* y, size_t n) {
  const hn::CappedTag<float, 16> d;
  HWY_ALIGN float in[16], out[16];
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    for (size_t k = 0; k < hn::Lanes(d); ++k) in[k] = x[std::min(i + k, n - 1)];
    const auto v = hn::Load(d, in);
    hn::Store(which == kSaturated ? exp_saturated(d, v)
              : which == kMinus   ? exp_minus(d, v)
              : which == kFull    ? exp_full(d, v)
                                  : one_minus_exp_minus(d, v),
              d, out);
    for (size_t k = 0; k < hn::Lanes(d) && i + k < n; ++k) y[i + k] = out[k];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(apply);

class Exp : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { use(GetParam()); }
  void TearDown() override { use(0); }
  static void use(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  static std::vector<float> of(int which, const std::vector<float>& x) {
    std::vector<float> y(x.size());
    HWY_DYNAMIC_DISPATCH(apply)(which, x.data(), y.data(), x.size());
    return y;
  }
};

/// Every 97th float from `from` to `to`, which have one sign, and both ends.
std::vector<float> walk(float from, float to) {
  uint32_t a, b;
  std::memcpy(&a, &from, 4), std::memcpy(&b, &to, 4);
  std::vector<float> list;
  for (uint32_t bits = std::min(a, b); bits < std::max(a, b); bits += 97) {
    float x;
    std::memcpy(&x, &bits, 4);
    list.push_back(x);
  }
  list.push_back(from);
  list.push_back(to);
  return list;
}

constexpr double kU = 0x1p-24;
constexpr double kBound = 1.7 * kU;  // derived in exp-inl.h

TEST_P(Exp, RelativeErrorOverTheRange) {
  double worst = 0;
  for (const auto& x : {walk(0, 88.3F), walk(-0.0F, -87.0F)}) {
    const auto y = of(0, x), z = of(2, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = std::exp(double(x[i]));
      worst = std::max({worst, std::abs(y[i] - want) / want, std::abs(z[i] - want) / want});
    }
  }
  EXPECT_LE(worst, kBound) << worst / kU << " u";
}

TEST_P(Exp, OfMinusX) {
  double worst = 0;
  const auto x = walk(0, 87.0F);
  const auto y = of(1, x);
  for (size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(y[i] - std::exp(-double(x[i]))) / std::exp(-double(x[i])));
  EXPECT_LE(worst, kBound) << worst / kU << " u";
}

TEST_P(Exp, OneMinusDoesNotCancel) {
  double worst = 0;
  const auto x = walk(1e-30F, 87.0F);
  const auto y = of(3, x);
  for (size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(y[i] + std::expm1(-double(x[i]))) / -std::expm1(-double(x[i])));
  EXPECT_LE(worst, 4 * kU) << worst / kU << " u";  // the bound of a correction in the contract of adam
}

TEST_P(Exp, DenormalsAndTheEnds) {
  for (const auto& x : {walk(-87.0F, -110.0F), walk(88.3F, 88.72F)}) {
    const auto y = of(2, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = std::exp(double(x[i]));
      EXPECT_LE(std::abs(y[i] - want), kBound * want + 0x1p-149) << x[i];
    }
  }
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(of(2, {kInf, 1000, 88.73F}), (std::vector<float>{kInf, kInf, kInf}));
  EXPECT_EQ(of(2, {-kInf, -1000, -104}), (std::vector<float>{0, 0, 0}));
  for (const float y : of(0, {kInf, 1e30F, 89})) EXPECT_GE(y, 2e38F);
  for (const float y : of(0, {-kInf, -1e30F, -88})) EXPECT_LE(std::abs(y), 1.7e-38F);
  for (const float y : of(1, {kInf, 1e30F, 88})) EXPECT_LE(std::abs(y), 1.7e-38F);
  for (int which = 0; which < 4; ++which)
    EXPECT_TRUE(std::isnan(of(which, {std::numeric_limits<float>::quiet_NaN()})[0])) << which;
}

std::vector<int64_t> targets() {
  std::vector<int64_t> list;
  for (int64_t t = hwy::SupportedTargets() & HWY_TARGETS; t != 0; t &= t - 1) list.push_back(t & -t);
  return list;
}
INSTANTIATE_TEST_SUITE_P(Targets, Exp, testing::ValuesIn(targets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

}  // namespace
}  // namespace klab
#endif
