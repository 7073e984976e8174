#include "reference/sample_pdf/sample_pdf.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/generator.h"

namespace klab {
namespace {

/// The inverse of a ray's distribution. u beyond its ends is taken as the end.
class Inverse {
 public:
  Inverse(const double* edges, const double* weights, int64_t bins)
      : edges_(edges), below_(size_t(bins) + 1) {
    for (size_t b = 0; b < size_t(bins); ++b) below_[b + 1] = below_[b] + weights[b] + SamplePdf::floor;
    for (double& v : below_) v /= below_.back();
    below_.back() = 1;
  }
  double operator()(double u) const {
    u = std::clamp(u, 0.0, 1.0);
    const auto after = std::upper_bound(below_.begin() + 1, below_.end() - 1, u);
    const auto b = size_t(after - below_.begin()) - 1;
    const double part = (u - below_[b]) / (below_[b + 1] - below_[b]);
    return edges_[b] + part * (edges_[b + 1] - edges_[b]);
  }

 private:
  const double* edges_;
  std::vector<double> below_;
};

}  // namespace

void SamplePdf::arrange(const Args<float>& x, Generator& random) {
  using Unit = std::uniform_real_distribution<float>;
  const Shape& s = x.shape;
  auto *edges = const_cast<float*>(x.edges), *weights = const_cast<float*>(x.weights);
  for (int64_t r = 0; r < s.rays; ++r) {
    float at = Unit(0, 2)(random);
    for (int64_t b = 0; b <= s.bins; ++b) {
      edges[r * (s.bins + 1) + b] = at;
      at += Unit(0.2F, 1)(random) / float(s.bins);
    }
    const uint64_t kind = random.widely ? random() % 4 : 3;
    for (int64_t b = 0; b < s.bins; ++b) {
      const float any = Unit(0, 1)(random);
      weights[r * s.bins + b] = kind == 0   ? 0
                                : kind == 1 ? any
                                : kind == 2 ? std::pow(any, 20.0F)
                                            : (random() % 8 == 0 ? any : 0.001F * any);
    }
  }
}

// t is a continuous and ascending function of u, for any bins. A float variant inverts a distribution whose
// values are off by some roundings for each bin. So its result lies between the exact function a little below
// and a little above u, except for the roundings of the interpolation: three of the edges' size.
void SamplePdf::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  constexpr double u = 0x1p-24;
  const double off = (2 * double(s.bins) + 8) * u;
  for (int64_t r = 0; r < s.rays; ++r) {
    const double* edges = x.edges + r * (s.bins + 1);
    const Inverse inverse(edges, x.weights + r * s.bins, s.bins);
    for (int64_t j = 0; j < s.count; ++j) {
      const double at = (double(j) + x.jitter[r * s.count + j]) / double(s.count);
      x.t[r * s.count + j] = inverse(at);
      const double size = std::max(std::abs(edges[0]), std::abs(edges[s.bins]));
      magnitude.t[r * s.count + j] = (inverse(at + off) - inverse(at - off)) / (u * terms(s)) + size;
    }
  }
}

}  // namespace klab
