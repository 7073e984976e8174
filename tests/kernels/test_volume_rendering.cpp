// ctest: sanitized-ops
// Volume rendering, spherical harmonics, pixel losses and Adam against values worked out elsewhere, and the ends of
// the range that the drawn inputs of the check do not reach.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "reference/adam/adam.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/composite_fwd/ray.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"
#include "reference/sh_fwd/sh_fwd.h"

namespace klab {
namespace {

constexpr double kExact = 1e-12;

/// Rays with given alphas, delta = 1: sigma = -log(1 - alpha).
TracedRay ray_of_alphas(const std::vector<double>& alphas) {
  std::vector<double> raw, delta(alphas.size(), 1.0);
  for (const double a : alphas) raw.push_back(std::log(-std::log1p(-a)));
  return trace(raw.data(), delta.data(), int64_t(alphas.size()));
}

TEST(VolumeRendering, WeightsOfGivenAlphas) {
  const TracedRay one = ray_of_alphas({0.4});
  EXPECT_NEAR(one.T[0], 1, kExact);
  EXPECT_NEAR(one.weight[0], 0.4, kExact);
  const TracedRay four = ray_of_alphas({0.3, 0.8, 0.8, 0.5});
  const double T[] = {1, 0.7, 0.14, 0.028, 0.014}, w[] = {0.3, 0.56, 0.112, 0.014};
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(four.T[i], T[i], kExact) << i;
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(four.weight[i], w[i], kExact) << i;
}

TEST(VolumeRendering, WeightsOfGivenDensities) {
  const std::vector<std::vector<double>> sigmas = {{0.4, 0.8}, {0.1, 0.8, 0.1}};
  // 1 - e^-0.4, e^-0.4 - e^-1.2; 1 - e^-0.1, e^-0.1 - e^-0.9, e^-0.9 - e^-1.0, to 15 digits.
  const std::vector<std::vector<double>> weights = {
      {0.329679953964361, 0.369125834123437}, {0.0951625819640404, 0.498267758295361, 0.0386902185691569}};
  for (size_t r = 0; r < sigmas.size(); ++r) {
    std::vector<double> raw, delta(sigmas[r].size(), 1.0);
    for (const double s : sigmas[r]) raw.push_back(std::log(s));
    const TracedRay ray = trace(raw.data(), delta.data(), int64_t(raw.size()));
    for (size_t i = 0; i < raw.size(); ++i)
      EXPECT_NEAR(ray.weight[i], weights[r][i], kExact) << r << "," << i;
  }
}

/// Inputs and outputs of composite_fwd for one ray of n samples behind an empty one.
struct OneRay {
  explicit OneRay(int64_t n) : samples(n) {
    begin = {0, 0, int32_t(n)};
    raw.assign(size_t(n), 0), delta.assign(size_t(n), 0.1F), t.assign(size_t(n), 2),
        rgb.assign(size_t(3 * n), 0.5F);
    background = {0.25F, 0.25F, 0.5F, 0.5F, 0.75F, 0.75F};
    color.assign(6, NAN), opacity.assign(2, NAN), depth.assign(2, NAN);
  }
  void run(const Variant& variant) {
    const std::vector<int64_t> shape = {2, samples};
    std::vector<void*> p = {begin.data(),      raw.data(),   rgb.data(),     delta.data(), t.data(),
                            background.data(), color.data(), opacity.data(), depth.data()};
    variant.bind(shape, p)();
  }
  int64_t samples;
  std::vector<int32_t> begin;
  std::vector<float> raw, rgb, delta, t, background, color, opacity, depth;
};

TEST(VolumeRendering, DensitiesBeyondTheExponentialsRange) {
  for (const Variant* v : variants_of("composite_fwd")) {
    if (!v->supported(std::vector<int64_t>{2, 40}, Host{.threads = 2}).empty()) continue;
    OneRay opaque(40);
    opaque.raw[3] = 200;  // exp overflows: a wall
    opaque.run(*v);
    EXPECT_NEAR(opaque.opacity[1], 1, 1e-6) << v->id;
    EXPECT_NEAR(opaque.color[1], 0.5, 1e-6) << v->id;
    EXPECT_NEAR(opaque.depth[1], 2, 1e-5) << v->id;
    OneRay clear(40);
    clear.raw.assign(40, -200);  // exp underflows: nothing
    clear.run(*v);
    EXPECT_NEAR(clear.opacity[1], 0, 1e-6) << v->id;
    for (int c = 0; c < 3; ++c)
      EXPECT_EQ(clear.color[size_t(2 * c + 1)], clear.background[size_t(2 * c + 1)]) << v->id;
    for (int c = 0; c < 3; ++c)
      EXPECT_EQ(clear.color[size_t(2 * c)], clear.background[size_t(2 * c)]) << v->id;
    EXPECT_EQ(clear.opacity[0], 0) << v->id;
    EXPECT_EQ(clear.depth[0], 0) << v->id;
  }
}

TEST(VolumeRendering, PropagatesNan) {
  for (const Variant* v : variants_of("composite_fwd")) {
    if (!v->supported(std::vector<int64_t>{2, 40}, Host{.threads = 2}).empty()) continue;
    OneRay ray(40);
    ray.raw[1] = std::numeric_limits<float>::quiet_NaN();
    ray.run(*v);
    EXPECT_TRUE(std::isnan(ray.color[1])) << v->id;
    EXPECT_FALSE(std::isnan(ray.color[0])) << v->id;  // the other ray's
  }
}

/// Inputs and outputs of composite_fwd for rays of given lengths; nothing is opaque.
struct ManyRays {
  explicit ManyRays(const std::vector<int>& lengths) : rays(lengths.size()) {
    for (const int n : lengths) begin.push_back(begin.back() + n);
    const auto samples = size_t(begin.back());
    for (size_t i = 0; i < 3 * samples; ++i) rgb.push_back(float(i * 37 % 101) / 101);
    for (size_t i = 0; i < samples; ++i) {
      raw.push_back(float(i * 53 % 89) / 89 - 2);
      delta.push_back(0.05F + float(i * 29 % 97) / 400);
      t.push_back(1 + float(i * 11 % 83) / 83);
    }
    for (size_t i = 0; i < 3 * rays; ++i) background.push_back(float(i * 13 % 31) / 31);
    color.assign(3 * rays, NAN), opacity.assign(rays, NAN), depth.assign(rays, NAN);
  }
  void run(const Variant& variant) {
    const std::vector<int64_t> shape = {int64_t(rays), begin.back()};
    std::vector<void*> p = {begin.data(),      raw.data(),   rgb.data(),     delta.data(), t.data(),
                            background.data(), color.data(), opacity.data(), depth.data()};
    variant.bind(shape, p)();
  }
  bool supported(const Variant& variant) const {
    return variant.supported(std::vector<int64_t>{int64_t(rays), begin.back()}, Host{.threads = 2}).empty();
  }
  /// A NaN in every 17th ray that has samples: in its densities, or alternately in its colors. Returns which rays.
  std::vector<bool> spoil(bool colors) {
    std::vector<bool> ill(rays);
    for (size_t r = 5; r < rays; r += 17) {
      const int n = begin[r + 1] - begin[r];
      if (n == 0) continue;
      ill[r] = true;
      (colors && r % 2 == 0 ? rgb : raw)[size_t(begin[r] + int(r) % n)] = NAN;
    }
    return ill;
  }
  size_t rays;
  std::vector<int32_t> begin = {0};
  std::vector<float> raw, rgb, delta, t, background, color, opacity, depth;
};

/// Lengths that meet vectors, turns and blocks of every size at every place: runs of equal ones, with gaps.
std::vector<int> lengths_of_every_kind() {
  std::vector<int> lengths;
  for (const int n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33})
    for (int k = 0; k < 3 + 1500 / n; ++k) lengths.push_back((k + n) % 6 == 0 ? 0 : n);
  for (int k = 0; k < 600; ++k) lengths.push_back(k * k % 11 == 0 ? k % 40 : k % 3);
  lengths.insert(lengths.end(), 1500, 0);
  lengths.push_back(20);
  return lengths;
}

TEST(VolumeRendering, RaysOfEveryLengthAtEveryPlace) {
  const std::vector<int> lengths = lengths_of_every_kind();
  for (const Variant* v : variants_of("composite_fwd")) {
    ManyRays x(lengths);
    if (!x.supported(*v)) continue;
    x.run(*v);
    for (size_t r = 0; r < x.rays; ++r) {
      const auto first = size_t(x.begin[r]), n = size_t(lengths[r]), samples = size_t(x.begin.back());
      const std::vector<double> raw(x.raw.begin() + int64_t(first), x.raw.begin() + int64_t(first + n));
      const std::vector<double> delta(x.delta.begin() + int64_t(first), x.delta.begin() + int64_t(first + n));
      const TracedRay ray = trace(raw.data(), delta.data(), int64_t(n));
      double sum[4] = {};
      for (size_t i = 0; i < n; ++i) {
        for (size_t c = 0; c < 3; ++c) sum[c] += ray.weight[i] * x.rgb[c * samples + first + i];
        sum[3] += ray.weight[i] * x.t[first + i];
      }
      for (size_t c = 0; c < 3; ++c)
        ASSERT_NEAR(x.color[c * x.rays + r], sum[c] + ray.T[n] * x.background[c * x.rays + r], 1e-5)
            << v->id << ' ' << r;
      ASSERT_NEAR(x.opacity[r], 1 - ray.T[n], 1e-5) << v->id << ' ' << r;
      ASSERT_NEAR(x.depth[r], sum[3], 2e-5) << v->id << ' ' << r;
    }
  }
}

/// Rungs that change the order of work, and no number, give the bits of the serial loop. One that loses them changes more than it
/// says.
TEST(VolumeRendering, RungsThatOnlyReorderKeepEveryBit) {
  const std::vector<int> lengths = lengths_of_every_kind();
  const auto by = [&](const char* name) {
    const Variant* v = find_variant(name);
    EXPECT_NE(v, nullptr) << name;
    ManyRays x(lengths);
    if (v != nullptr) x.run(*v);
    return x;
  };
  const ManyRays serial = by("composite_fwd.cpu.01_serial");
  for (const char* name : {"composite_fwd.cpu.13_alpha_ahead", "composite_fwd.cpu.15_unrolled"}) {
    const ManyRays other = by(name);
    EXPECT_EQ(other.color, serial.color) << name;
    EXPECT_EQ(other.opacity, serial.opacity) << name;
    EXPECT_EQ(other.depth, serial.depth) << name;
  }
  const ManyRays logs = by("composite_fwd.cpu.16_log_sum"),
                 fast = by("composite_fwd.cpu.12_fast_exponential");
  EXPECT_NE(logs.color, serial.color);
  EXPECT_NE(fast.color, serial.color);
}

TEST(VolumeRendering, ANanStaysInItsRay) {
  const std::vector<int> lengths = lengths_of_every_kind();
  for (const Variant* v : variants_of("composite_fwd")) {
    ManyRays x(lengths), clean(lengths);
    if (!x.supported(*v)) continue;
    const std::vector<bool> ill = x.spoil(true);
    x.run(*v);
    clean.run(*v);
    for (size_t r = 0; r < x.rays; ++r) {
      ASSERT_EQ(std::isnan(x.color[r]), ill[r]) << v->id << ' ' << r;
      if (!ill[r]) {
        ASSERT_EQ(x.color[r], clean.color[r]) << v->id << ' ' << r;
      }
    }
  }
}

TEST(VolumeRendering, ANanStaysInItsRaysGradients) {
  const std::vector<int> lengths = lengths_of_every_kind();
  for (const Variant* v : variants_of("composite_bwd", "cpu")) {
    ManyRays x(lengths);
    const size_t samples = size_t(x.begin.back());
    std::vector<float> d_color(3 * x.rays, 0.5F), d_opacity(x.rays, 0.25F), d_depth(x.rays, 0.125F);
    const std::vector<bool> ill = x.spoil(false);
    std::vector<float> d_raw(samples), d_rgb(3 * samples);
    const std::vector<int64_t> shape = {int64_t(x.rays), int64_t(samples)};
    std::vector<void*> p = {
        x.begin.data(),      x.raw.data(),   x.rgb.data(),     x.delta.data(), x.t.data(),  //
        x.background.data(), d_color.data(), d_opacity.data(), d_depth.data(), d_raw.data(), d_rgb.data()};
    v->bind(shape, p)();
    for (size_t r = 0; r < x.rays; ++r) {
      bool nan = false;
      for (auto i = size_t(x.begin[r]); i < size_t(x.begin[r + 1]); ++i) nan = nan || std::isnan(d_raw[i]);
      ASSERT_EQ(nan, ill[r]) << v->id << ' ' << r;
    }
  }
}

TEST(VolumeRendering, MoreSamplesThanCachesHold) {
  for (const char* name : {"composite_fwd", "composite_bwd"}) {
    const LabOp* op = find_op(name);
    ASSERT_NE(op, nullptr);
    const Variant* const best[] = {variants_of(name, "cpu").back()};
    CheckOptions options;
    options.quick = true;
    options.shape = {40000,
                     (1 << 21) + 208};  // rungs that write around the caches do so from 2^21 samples on
    const int threads = omp_get_max_threads();
    omp_set_num_threads(3);
    const auto results = check(*op, best, options).variants;
    omp_set_num_threads(threads);
    ASSERT_FALSE(results.empty());
    for (const CheckResult& r : results) EXPECT_TRUE(r.passed()) << r.variant;
  }
}

TEST(SphericalHarmonics, AreOrthonormal) {
  // Midpoints in azimuth are exact for these degrees; in z, Simpson's rule over polynomials of degree 6 converges.
  constexpr int kAround = 16, kAlong = 2000;
  std::vector<double> directions[3], weight;
  for (int k = 0; k <= kAlong; ++k)
    for (int j = 0; j < kAround; ++j) {
      const double z = -1 + 2.0 * k / kAlong, r = std::sqrt(std::max(0.0, 1 - z * z)),
                   phi = 2 * M_PI * (j + 0.5) / kAround;
      directions[0].push_back(r * std::cos(phi));
      directions[1].push_back(r * std::sin(phi));
      directions[2].push_back(z);
      weight.push_back((k == 0 || k == kAlong ? 1 : k % 2 ? 4 : 2) / 3.0 * 2 / kAlong * 2 * M_PI / kAround);
    }
  const auto n = int64_t(weight.size());
  std::vector<double> in(directions[0]), out(size_t(16 * n)), magnitude(out.size());
  in.insert(in.end(), directions[1].begin(), directions[1].end());
  in.insert(in.end(), directions[2].begin(), directions[2].end());
  ShFwd::Args<double> x{{n, 4}, in.data(), out.data()}, m{{n, 4}, nullptr, magnitude.data()};
  ShFwd::reference(x, m);
  for (int a = 0; a < 16; ++a)
    for (int b = 0; b < 16; ++b) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += weight[size_t(i)] * out[size_t(a * n + i)] * out[size_t(b * n + i)];
      EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-9) << a << "," << b;
    }
}

TEST(SphericalHarmonics, OrderAndSigns) {
  // Along +x, +y, +z bands 0 and 1 are (Y00, -y, z, -x).
  const double in[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  double out[12], magnitude[12];
  ShFwd::Args<double> x{{3, 2}, in, out}, m{{3, 2}, nullptr, magnitude};
  ShFwd::reference(x, m);
  const double c = std::sqrt(3 / (4 * M_PI));
  const double expected[] = {
      0.282094791773878, 0.282094791773878, 0.282094791773878, 0, -c, 0, 0, 0, c, -c, 0, 0};
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(out[i], expected[i], kExact) << i;
}

TEST(PixelLoss, OnBothSidesOfTheTurn) {
  const double prediction[] = {0.05, 0.3, 0}, target[] = {0, 0, 0.1F};
  double loss = 0, magnitude = 0;
  const auto of = [&](int64_t kind) {
    PixelLossFwd::reference({{1, kind}, prediction, target, &loss},
                            {{1, kind}, nullptr, nullptr, &magnitude});
    return loss;
  };
  const double d = 0.1F;
  EXPECT_NEAR(of(0), (0.0025 + 0.09 + d * d) / 3, kExact);
  EXPECT_NEAR(of(1), (0.00125 + d * (0.3 - d / 2) + d * d / 2) / 3, kExact);
  EXPECT_NEAR(of(2), (0.0025 + 0.09 + d * d) / 6, kExact);
}

TEST(AdamStep, TheFirstStepIsTheRateForAnyGradient) {
  // With m = v = 0 the corrections cancel the decays: the step is rate·g/|g|.
  for (const Variant* v : variants_of("adam"))
    for (const float g : {1e-6F, 1.0F, 1e6F}) {
      float hyper[] = {1e-2F, 0.9F, 0.99F, 1e-15F, 0}, gradient[] = {g, 0, -g, 0}, param[] = {1, 2, 3, 4};
      float m[4] = {}, second[4] = {};
      int32_t steps[] = {0, 0, 0, 0};
      const std::vector<int64_t> shape = {4, 1, 0};
      std::vector<void*> p = {hyper, gradient, param, m, second, steps};
      v->bind(shape, p)();
      EXPECT_NEAR(param[0], 0.99, 1e-6) << v->id << " " << g;
      EXPECT_NEAR(param[2], 3.01, 1e-6) << v->id << " " << g;
      EXPECT_EQ(param[1], 2) << v->id;
      EXPECT_EQ(steps[0], 1) << v->id;
      EXPECT_EQ(steps[1], 0) << v->id;
    }
}

TEST(AdamStep, MovesAWholeGroupForOneGradient) {
  for (const Variant* v : variants_of("adam")) {
    float hyper[] = {1e-2F, 0.9F, 0.99F, 1e-15F, 0}, gradient[] = {0, 1, 0, 0}, param[] = {1, 2, 3, 4};
    float m[] = {1, 0, 1, 1}, second[] = {1, 1, 1, 1};
    int32_t steps[] = {7, 7};
    const std::vector<int64_t> shape = {4, 2, 0};
    std::vector<void*> p = {hyper, gradient, param, m, second, steps};
    v->bind(shape, p)();
    EXPECT_LT(param[0], 1) << v->id;  // momentum alone moves it
    EXPECT_EQ(param[2], 3) << v->id;
    EXPECT_EQ(m[3], 1) << v->id;
    EXPECT_EQ(steps[0], 8) << v->id;
    EXPECT_EQ(steps[1], 7) << v->id;
  }
}

}  // namespace
}  // namespace klab
