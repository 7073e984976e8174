// The gradient of a whole picture's loss with respect to every number of 20 Gaussians: the contracts' double
// references, chained as a training step chains its ops, against central differences; and a step of the
// painter in float against these.
// ctest: slow
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "labs/radiance/splat/painter.h"
#include "labs/radiance/splat/trainer.h"
#include "reference/gs_antialias_bwd/gs_antialias_bwd.h"
#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"
#include "reference/gs_bin/gs_bin.h"
#include "reference/gs_color_bwd/gs_color_bwd.h"
#include "reference/gs_color_fwd/gs_color_fwd.h"
#include "reference/gs_project_bwd/gs_project_bwd.h"
#include "reference/gs_project_fwd/gs_project_fwd.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {
namespace {

constexpr int64_t kCount = 20, kSide = 20;
constexpr int kDegree = 1;
using Array64 = std::vector<double>;

/// The five arrays of a set, one behind the other.
struct Parameters {
  Array64 position, log_scale, quaternion, opacity_raw, coefficients;
  std::array<Array64*, 5> arrays() {
    return {&position, &log_scale, &quaternion, &opacity_raw, &coefficients};
  }
};

/// Everything between parameters and loss, in double. Where a reference wants room for bounds of errors it gets some.
class Chain {
 public:
  Chain(const Camera& camera, const std::vector<float>& target, bool antialiased)
      : antialiased_(antialiased), target_(target.begin(), target.end()) {
    const auto numbers = projection_of(camera);
    camera_.assign(numbers.begin(), numbers.end());
    const Vec3 eye = camera.position();
    eye_ = {eye.x, eye.y, eye.z};
  }

  double loss(const Parameters& p) {
    GsProjectFwd::reference(project(p, mean_, conic_, depth_, opacity_, extent_),
                            project(p, room_[0], room_[1], room_[2], room_[3], room_[4]));
    shown_ = opacity_;
    if (antialiased_)
      GsAntialiasFwd::reference({{kCount}, conic_.data(), opacity_.data(), shown_.data()},
                                {{kCount}, conic_.data(), opacity_.data(), room_[0].data()});
    GsColorFwd::reference(shade(p, color_), shade(p, room_[0]));
    std::vector<int32_t> order(kCount);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return depth_[size_t(a)] < depth_[size_t(b)]; });
    int32_t needed = 0;
    const GsBin::Args<double> bin{{kCount, int64_t(id_.size()), kSide, kSide},
                                  mean_.data(),
                                  extent_.data(),
                                  order.data(),
                                  begin_.data(),
                                  id_.data(),
                                  &needed};
    GsBin::reference(bin, bin);
    EXPECT_LE(needed, int32_t(id_.size()));
    GsRasterizeFwd::reference(draw(image_, transmittance_), draw(room_[0], room_[1]));
    double loss = 0, unused = 0;
    const SsimLossFwd::Shape shape{kSide, kSide};
    SsimLossFwd::reference({shape, &weight_, image_.data(), target_.data(), &loss},
                           {shape, &weight_, image_.data(), target_.data(), &unused});
    return loss;
  }

  /// At the parameters of the last loss().
  Parameters gradient(const Parameters& p) {
    const double one = 1;
    Array64 d_image(size_t(3 * kSide * kSide)), d_mean(2 * kCount), d_conic(3 * kCount), d_opacity(kCount),
        d_color(3 * kCount), by_view(3 * kCount);
    const SsimLossFwd::Shape shape{kSide, kSide};
    SsimLossBwd::reference({shape, &weight_, image_.data(), target_.data(), &one, d_image.data()},
                           {shape, &weight_, image_.data(), target_.data(), &one, room_[0].data()});
    const auto back = [&](Array64& a, Array64& b, Array64& c, Array64& d) {
      return GsRasterizeBwd::Args<double>{raster_shape(), mean_.data(),  conic_.data(), shown_.data(),
                                          color_.data(),  begin_.data(), id_.data(),    image_.data(),
                                          d_image.data(), a.data(),      b.data(),      c.data(),
                                          d.data()};
    };
    GsRasterizeBwd::reference(back(d_mean, d_conic, d_opacity, d_color),
                              back(room_[0], room_[1], room_[2], room_[3]));
    if (antialiased_) {
      const Array64 d_shown = d_opacity;
      const auto args = [&](Array64& opacity, Array64& conic) {
        return GsAntialiasBwd::Args<double>{{kCount},       conic_.data(),  opacity_.data(),
                                            d_shown.data(), opacity.data(), conic.data()};
      };
      GsAntialiasBwd::reference(args(d_opacity, d_conic), args(room_[0], room_[1]));
    }
    Parameters out = p;
    const GsColorFwd::Shape colors{kCount, kDegree};
    GsColorBwd::reference({colors, eye_.data(), p.position.data(), p.coefficients.data(), d_color.data(),
                           by_view.data(), out.coefficients.data()},
                          {colors, eye_.data(), p.position.data(), p.coefficients.data(), d_color.data(),
                           room_[0].data(), room_[1].data()});
    const auto through = [&](Array64& a, Array64& b, Array64& c, Array64& d) {
      return GsProjectBwd::Args<double>{project_shape(),
                                        camera_.data(),
                                        p.position.data(),
                                        p.log_scale.data(),
                                        p.quaternion.data(),
                                        p.opacity_raw.data(),
                                        d_mean.data(),
                                        d_conic.data(),
                                        d_opacity.data(),
                                        a.data(),
                                        b.data(),
                                        c.data(),
                                        d.data()};
    };
    GsProjectBwd::reference(through(out.position, out.log_scale, out.quaternion, out.opacity_raw),
                            through(room_[0], room_[1], room_[2], room_[3]));
    for (size_t i = 0; i < by_view.size(); ++i) out.position[i] += by_view[i];
    return out;
  }

 private:
  static GsProjectFwd::Shape project_shape() { return {kCount, kSide, kSide, 1}; }
  GsRasterizeFwd::Shape raster_shape() const { return {kCount, int64_t(id_.size()), kSide, kSide}; }
  GsProjectFwd::Args<double> project(const Parameters& p, Array64& mean, Array64& conic, Array64& depth,
                                     Array64& opacity, Array64& extent) const {
    return {project_shape(),     camera_.data(),       p.position.data(), p.log_scale.data(),
            p.quaternion.data(), p.opacity_raw.data(), mean.data(),       conic.data(),
            depth.data(),        opacity.data(),       extent.data()};
  }
  GsColorFwd::Args<double> shade(const Parameters& p, Array64& color) const {
    return {{kCount, kDegree}, eye_.data(), p.position.data(), p.coefficients.data(), color.data()};
  }
  GsRasterizeFwd::Args<double> draw(Array64& image, Array64& transmittance) const {
    return {raster_shape(), mean_.data(),  conic_.data(), shown_.data(), color_.data(),
            white_.data(),  begin_.data(), id_.data(),    image.data(),  transmittance.data()};
  }

  bool antialiased_;
  Array64 camera_, eye_, target_, white_{1, 1, 1};
  double weight_ = 0.2;
  Array64 mean_ = Array64(2 * kCount), conic_ = Array64(3 * kCount), depth_ = Array64(kCount),
          opacity_ = Array64(kCount), shown_ = Array64(kCount), extent_ = Array64(2 * kCount),
          color_ = Array64(3 * kCount), image_ = Array64(size_t(3 * kSide * kSide)),
          transmittance_ = Array64(size_t(kSide * kSide));
  std::array<Array64, 5> room_ = {Array64(2000), Array64(2000), Array64(2000), Array64(2000), Array64(2000)};
  std::vector<int32_t> begin_ = std::vector<int32_t>(5), id_ = std::vector<int32_t>(400);
};

/// 20 Gaussians in the cube's middle, some pixels large, some behind each other.
GaussianSet some_gaussians() {
  GaussianSet set = random_gaussians(kCount, kDegree, 5);
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  for (float& v : set.position) v = 0.5F + 0.12F * normal(random);
  for (float& v : set.log_scale) v = std::log(0.06F) + 0.4F * normal(random);
  for (float& v : set.quaternion) v = normal(random);
  for (float& v : set.opacity_raw) v = 0.8F * normal(random);
  for (float& v : set.coefficients) v = 0.35F * normal(random);
  return set;
}

Camera some_camera() { return look_at({1.4F, 0.9F, 1.1F}, {0.5F, 0.5F, 0.5F}, kSide, kSide, 0.6F); }

std::vector<float> some_target() {
  std::vector<float> target(size_t(3 * kSide * kSide));
  std::mt19937_64 random(11);
  for (float& v : target) v = float(random() % 1024) / 1024;
  return target;
}

Parameters wide(GaussianSet& set) {
  Parameters p;
  for (size_t k = 0; k < 5; ++k) p.arrays()[k]->assign(set.tensors()[k]->begin(), set.tensors()[k]->end());
  return p;
}

/// Plain, and antialiased.
class SplatGradient : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Both, SplatGradient, testing::Bool(),
                         [](const auto& both) { return both.param ? "antialiased" : "plain"; });

TEST_P(SplatGradient, MatchesFiniteDifferencesOfAPicture) {
  GaussianSet set = some_gaussians();
  Parameters p = wide(set);
  Chain chain(some_camera(), some_target(), GetParam());
  ASSERT_GT(chain.loss(p), 0.05);
  Parameters analytic = chain.gradient(p);
  int compared = 0, moving = 0;
  for (size_t k = 0; k < 5; ++k) {
    Array64& values = *p.arrays()[k];
    double scale = 0;
    for (const double d : *analytic.arrays()[k]) scale = std::max(scale, std::abs(d));
    ASSERT_GT(scale, 0) << "array " << k << " has no gradient";
    for (size_t i = 0; i < values.size(); ++i) {
      constexpr double kStep = 1e-7;
      const double before = values[i];
      values[i] = before + kStep;
      const double above = chain.loss(p);
      values[i] = before - kStep;
      const double below = chain.loss(p);
      values[i] = before;
      const double numerical = (above - below) / (2 * kStep), found = (*analytic.arrays()[k])[i];
      EXPECT_NEAR(found, numerical, 1e-5 * scale + 1e-5 * std::abs(numerical))
          << "array " << k << ", element " << i;
      ++compared;
      moving += found != 0;
    }
  }
  EXPECT_EQ(compared, 460);
  EXPECT_GT(moving, 350);  // nearly all are seen
}

/// Both the plain rungs and the last ones of every ladder.
TEST_P(SplatGradient, StepInFloatMatchesTheReferences) {
  GaussianSet set = some_gaussians();
  set.antialiased = GetParam();
  Parameters p = wide(set);
  const std::vector<float> target = some_target();
  Chain chain(some_camera(), target, GetParam());
  chain.loss(p);
  Parameters expected = chain.gradient(p);
  const auto calls = splat_training_calls(kCount, kDegree, int(kSide), int(kSide),
                                          {.antialiased = GetParam(), .pull = true});
  const CallTimes::Measure last_is_fastest = [](const auto&, const auto&,
                                                auto variants) -> CallTimes::Measured {
    std::vector<double> seconds;
    for (size_t i = 0; i < variants.size(); ++i) seconds.push_back(1.0 / double(i + 1));
    return seconds;
  };
  for (const char* name : {"naive", "best"}) {
    CallTimes times({}, last_is_fastest);
    Painter painter(Plan::named(name, calls, times));
    const float white[3] = {1, 1, 1}, weight = 0.2F, one = 1;
    painter.draw(set, kDegree, some_camera(), white);
    std::vector<float> d_image(target.size());
    painter.run("loss", [&](Ops& ops) {
      ops.call<SsimLossBwd>({kSide, kSide}, {.weight = &weight,
                                             .image = painter.image().data(),
                                             .target = target.data(),
                                             .d_loss = &one,
                                             .d_image = d_image.data()});
    });
    GaussianSet gradient = GaussianSet::zeros(kCount, kDegree);
    painter.backward(set, d_image, gradient);
    for (size_t k = 0; k < 5; ++k) {
      double error = 0, size = 0;
      for (size_t i = 0; i < expected.arrays()[k]->size(); ++i) {
        const double want = (*expected.arrays()[k])[i], got = double((*gradient.tensors()[k])[i]);
        error += (got - want) * (got - want);
        size += want * want;
      }
      EXPECT_LE(std::sqrt(error), 1e-3 * std::sqrt(size)) << name << ", array " << k;
    }
    // Absolute gradients come with the same gradients, and are what each pixel alone would pull with.
    const std::vector<float> d_mean = painter.d_mean();
    GaussianSet again = GaussianSet::zeros(kCount, kDegree);
    painter.backward(set, d_image, again, true);
    const std::vector<float> pull = painter.pull();
    ASSERT_EQ(pull.size(), d_mean.size());
    for (size_t k = 0; k < 5; ++k) {
      const std::vector<float>&first = *gradient.tensors()[k], &second = *again.tensors()[k];
      for (size_t i = 0; i < first.size(); ++i)
        EXPECT_NEAR(first[i], second[i], 1e-4F * (1e-3F + std::abs(first[i]))) << name << ", array " << k;
    }
    std::vector<double> alone(pull.size());
    constexpr size_t kPixels = size_t(kSide * kSide);
    for (size_t pixel = 0; pixel < kPixels; ++pixel) {
      std::vector<float> of_pixel(d_image.size());
      for (size_t c = 0; c < 3; ++c) of_pixel[c * kPixels + pixel] = d_image[c * kPixels + pixel];
      painter.backward(set, of_pixel, again);
      for (size_t i = 0; i < alone.size(); ++i) alone[i] += std::abs(double(painter.d_mean()[i]));
    }
    EXPECT_TRUE(painter.pull().empty()) << "it was not asked for";
    const double largest = *std::ranges::max_element(alone);
    double cancelled = 0;
    for (size_t i = 0; i < alone.size(); ++i) {
      EXPECT_NEAR(pull[i], alone[i], 1e-4 * largest) << name << ", " << i;
      cancelled += alone[i] - std::abs(double(d_mean[i]));
    }
    EXPECT_GT(cancelled, largest) << "no two pixels pulled to opposite sides";
  }
}

}  // namespace
}  // namespace klab
