// The gradient of a whole render's loss with respect to every number of a grid of 8x8x8 voxels: the
// contracts' double references, chained as a training step chains its ops, against central differences.
// ctest: slow
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "labs/radiance/scene/camera.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"
#include "reference/voxel_march/voxel_march.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

namespace klab {
namespace {

using VoxelGradientArray64 = std::vector<double>;

constexpr int64_t kGrid = 8, kSide = 6, kBasis = 9, kRows = (kGrid + 1) * (kGrid + 1) * (kGrid + 1);
constexpr VoxelShFwd::Shape kPoints = {.n = 0, .grid = kGrid, .rows = kRows, .basis = kBasis};

struct VoxelGradientParameters {
  VoxelGradientArray64 density, coefficients;
};

/// One ray from the march to its share of the loss, in double.
class OneRay {
 public:
  OneRay(const Camera& camera, int column, int row, const std::vector<uint8_t>& cells,
         const std::vector<int32_t>& links, std::mt19937_64& random)
      : links_(links) {
    const Ray ray = camera.ray(float(column) + 0.5F, float(row) + 0.5F);
    const VoxelGradientArray64 o = {double(ray.origin.x), double(ray.origin.y), double(ray.origin.z)};
    const VoxelGradientArray64 d = {double(ray.direction.x), double(ray.direction.y),
                                    double(ray.direction.z)};
    const VoxelGradientArray64 box = {0.05, 1, 0, std::numeric_limits<double>::infinity()};
    constexpr int64_t room = 3 * kGrid;
    VoxelGradientArray64 t(room), delta(room);
    const VoxelMarch::Args<double> march{{1, kGrid, room}, o.data(), d.data(), box.data(),
                                         cells.data(),     begin_,   t.data(), delta.data()};
    VoxelMarch::reference(march, march);
    n_ = begin_[1];
    t_.assign(t.begin(), t.begin() + n_);
    delta_.assign(delta.begin(), delta.begin() + n_);
    for (size_t axis = 0; axis < 3; ++axis)
      for (const double at : t_) {
        positions_.push_back(std::clamp(o[axis] + at * d[axis], 0.0, 1.0));
        directions_.push_back(d[axis]);
      }
    for (double& v : target_) v = double(random() % 1024) / 1024;
  }

  int64_t samples() const { return n_; }

  double loss(const VoxelGradientParameters& p) {
    VoxelShFwd::reference(look(p, raw_, rgb_), look(p, room_[0], room_[1]));
    CompositeFwd::reference(composite(color_, room_[2], room_[3]), composite(room_[4], room_[5], room_[6]));
    double loss = 0, unused = 0;
    PixelLossFwd::reference({{1, 0}, color_.data(), target_.data(), &loss},
                            {{1, 0}, color_.data(), target_.data(), &unused});
    return loss;
  }

  /// Adds to the gradient, at the parameters of the last loss().
  void add_gradient(const VoxelGradientParameters& p, VoxelGradientParameters& gradient) {
    const double one = 1, none = 0;
    VoxelGradientArray64 d_color(3), d_raw(size_t(n_), 0), d_rgb(size_t(3 * n_), 0);
    PixelLossBwd::reference({{1, 0}, color_.data(), target_.data(), &one, d_color.data()},
                            {{1, 0}, color_.data(), target_.data(), &one, room_[0].data()});
    const auto back = [&](VoxelGradientArray64& raw, VoxelGradientArray64& rgb) {
      return CompositeBwd::Args<double>{{1, n_},       begin_,    raw_.data(),   rgb_.data(),
                                        delta_.data(), t_.data(), white_.data(), d_color.data(),
                                        &none,         &none,     raw.data(),    rgb.data()};
    };
    CompositeBwd::reference(back(d_raw, d_rgb), back(room_[0], room_[1]));
    VoxelShFwd::Shape shape = kPoints;
    shape.n = n_;
    VoxelGradientParameters bounds{VoxelGradientArray64(kRows),
                                   VoxelGradientArray64(size_t(kRows * 3 * kBasis))};
    const auto through = [&](VoxelGradientParameters& out) {
      return VoxelShBwd::Args<double>{
          shape,        positions_.data(), directions_.data(),    links_.data(),
          &empty_,      p.density.data(),  p.coefficients.data(), rgb_.data(),
          d_raw.data(), d_rgb.data(),      out.density.data(),    out.coefficients.data()};
    };
    VoxelShBwd::reference(through(gradient), through(bounds));
  }

  /// Marks rows that it reads.
  void mark(std::vector<uint8_t>& rows) const {
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t c = 0; c < 8; ++c) {
        int64_t at = 0;
        for (int64_t axis = 2; axis >= 0; --axis) {
          const double position = positions_[size_t(axis * n_ + i)] * double(kGrid);
          at = at * (kGrid + 1) + std::min(int64_t(position), kGrid - 1) + (c >> axis & 1);
        }
        rows[size_t(links_[size_t(at)])] = 1;
      }
  }

 private:
  VoxelShFwd::Args<double> look(const VoxelGradientParameters& p, VoxelGradientArray64& raw,
                                VoxelGradientArray64& rgb) const {
    VoxelShFwd::Shape shape = kPoints;
    shape.n = n_;
    return {shape,     positions_.data(), directions_.data(),    links_.data(),
            &empty_,   p.density.data(),  p.coefficients.data(), raw.data(),
            rgb.data()};
  }
  CompositeFwd::Args<double> composite(VoxelGradientArray64& color, VoxelGradientArray64& opacity,
                                       VoxelGradientArray64& depth) const {
    return {{1, n_},   begin_,        raw_.data(),  rgb_.data(),    delta_.data(),
            t_.data(), white_.data(), color.data(), opacity.data(), depth.data()};
  }

  const std::vector<int32_t>& links_;
  int64_t n_ = 0;
  int32_t begin_[2] = {};
  double empty_ = -5;
  VoxelGradientArray64 t_, delta_, positions_, directions_, target_ = VoxelGradientArray64(3),
                                                            white_ = VoxelGradientArray64(3, 1),
                                                            color_ = VoxelGradientArray64(3);
  VoxelGradientArray64 raw_ = VoxelGradientArray64(100), rgb_ = VoxelGradientArray64(300);
  std::array<VoxelGradientArray64, 7> room_ = {VoxelGradientArray64(300), VoxelGradientArray64(300),
                                               VoxelGradientArray64(300), VoxelGradientArray64(300),
                                               VoxelGradientArray64(300), VoxelGradientArray64(300),
                                               VoxelGradientArray64(300)};
};

TEST(VoxelGradient, MatchesFiniteDifferencesOfARender) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  VoxelGradientParameters p{VoxelGradientArray64(kRows), VoxelGradientArray64(size_t(kRows * 3 * kBasis))};
  for (double& v : p.density) v = 0.5 + normal(random);
  for (double& v : p.coefficients) v = 0.5 * normal(random);
  std::vector<int32_t> links(kRows);
  for (size_t v = 0; v < links.size(); ++v) links[v] = int32_t(v);
  const std::vector<uint8_t> cells(kGrid * kGrid * kGrid / 8, 0xFF);
  const Camera camera = look_at({1.5F, 0.9F, 1.2F}, {0.5F, 0.5F, 0.5F}, kSide, kSide, 0.6F);
  std::vector<OneRay> rays;
  int64_t samples = 0;
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      rays.emplace_back(camera, column, row, cells, links, random);
      samples += rays.back().samples();
    }
  ASSERT_GT(samples, 300);
  std::vector<std::vector<size_t>> rays_of(kRows);
  for (size_t r = 0; r < rays.size(); ++r) {
    std::vector<uint8_t> rows(kRows);
    rays[r].mark(rows);
    for (size_t row = 0; row < rows.size(); ++row)
      if (rows[row] != 0) rays_of[row].push_back(r);
  }
  VoxelGradientParameters gradient{VoxelGradientArray64(kRows), VoxelGradientArray64(p.coefficients.size())};
  double loss = 0;
  for (OneRay& ray : rays) {
    loss += ray.loss(p);
    ray.add_gradient(p, gradient);
  }
  ASSERT_GT(loss, 1);
  int moving = 0;
  const auto compare = [&](VoxelGradientArray64& values, const VoxelGradientArray64& found, size_t numbers) {
    double scale = 0;
    for (const double d : found) scale = std::max(scale, std::abs(d));
    ASSERT_GT(scale, 0);
    for (size_t i = 0; i < values.size(); ++i) {
      // A row that no ray reads moves nothing.
      double numerical = 0;
      constexpr double kStep = 1e-5;
      const double before = values[i];
      for (const size_t r : rays_of[i / numbers]) {
        values[i] = before + kStep;
        numerical += rays[r].loss(p) / (2 * kStep);
        values[i] = before - kStep;
        numerical -= rays[r].loss(p) / (2 * kStep);
      }
      values[i] = before;
      ASSERT_NEAR(found[i], numerical, 1e-7 * scale + 1e-6 * std::abs(numerical)) << "element " << i;
      moving += found[i] != 0;
    }
  };
  compare(p.density, gradient.density, 1);
  compare(p.coefficients, gradient.coefficients, 3 * kBasis);
  EXPECT_GT(moving, int(p.coefficients.size()) / 4);
}

}  // namespace
}  // namespace klab
