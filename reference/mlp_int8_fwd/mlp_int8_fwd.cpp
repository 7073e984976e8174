#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace klab {
namespace {

constexpr double kRoundoff = 0x1p-24;  // of float, the arithmetic of variants
constexpr double kGrowth = 11;         // of the contract's terms, at most

/// Inputs of a layer: values, and what they may be off by in units of kRoundoff.
struct Inputs {
  std::vector<double> h, m;
  double largest = 0, most_off = 0;

  void measure() {
    largest = most_off = 0;
    for (size_t c = 0; c < h.size(); ++c) {
      largest = std::max(largest, std::abs(h[c]));
      most_off = std::max(most_off, m[c]);
    }
  }
};

/// Returns by how many steps a variant may round input c elsewhere.
double steps_off(const Inputs& in, size_t c) {
  const double v = 127 * in.h[c] / in.largest, q = std::nearbyint(v);
  const double off =
      kRoundoff * (kGrowth * (127 * in.m[c] + std::abs(v) * in.most_off) / in.largest + 4 * std::abs(v));
  return off >= 0.5 - std::abs(v - q) ? 1 + std::floor(off) : 0;
}

}  // namespace

// The bound is carried along with the values, as that of mlp_fwd: a variant holds h' with |h' - h| <= u g m, u float's roundoff and g
// the growth of the contract's terms, 1 <= g <= kGrowth; m = 0 for x. Its scale a' differs from a by u g M, M the largest m.
//
// v = 127 h / a is then off by less than steps_off() computes to first order, and is rounded elsewhere only if a tie lies that near.
// With d[c] steps of difference, the sum S differs by Σ |w| d, and z = S (a / 127) f by
//
//   u g m_z,   m_z = |z| (1 + M / a) + (a / 127) f Σ |w| d / u
//
// Where a is next to nothing, or no larger than what it may be off by, the inputs themselves bound it: a rounded input is within a/254 of the
// input, so that m_z = f Σ |w| (m + M + 2 a / u).
void MlpInt8Fwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  Inputs in;
  std::vector<double> z, mz, q, d;
  for (int64_t i = 0; i < s.n; ++i) {
    in.h.resize(size_t(s.in));
    in.m.assign(size_t(s.in), 0.0);
    for (int64_t c = 0; c < s.in; ++c) in.h[size_t(c)] = x.x[c * s.n + i];
    const double* factor = x.factors;
    for (int64_t layer = 0; layer < s.layers(); ++layer) {
      const int64_t from = s.from(layer), to = s.to(layer);
      const int8_t* w = x.bytes + s.weight_begin(layer);
      in.measure();
      const bool none = in.largest <= double(kLeast);
      // The inputs of the network are not off, and a variant's largest is theirs.
      const bool surely_none = in.largest <= double(kLeast) - kRoundoff * kGrowth * in.most_off;
      const bool vague = !surely_none && (in.largest <= 1.01 * double(kLeast) ||
                                          8 * kRoundoff * kGrowth * in.most_off >= in.largest);
      q.assign(size_t(from), 0.0);
      d.assign(size_t(from), 0.0);
      for (size_t c = 0; c < size_t(from); ++c) {
        q[c] = none ? 0 : std::nearbyint(127 * in.h[c] / in.largest);
        d[c] = vague || none ? 0 : steps_off(in, c);
      }
      z.assign(size_t(to), 0.0);
      mz.assign(size_t(to), 0.0);
      for (int64_t r = 0; r < to; ++r, ++factor) {
        double sum = 0, off = 0;
        for (int64_t c = 0; c < from; ++c) {
          const double weight = w[r * from + c];
          sum += weight * q[size_t(c)];
          off += std::abs(weight) *
                 (vague ? in.m[size_t(c)] + in.most_off + 2 * (in.largest + double(kLeast)) / kRoundoff
                        : d[size_t(c)] * in.largest / 127 / kRoundoff);
        }
        const double v = sum * (in.largest / 127) * *factor;
        z[size_t(r)] = layer < s.hidden ? (v > 0 ? v : 0) : v;
        mz[size_t(r)] = std::abs(v) * (vague || none ? 1 : 1 + in.most_off / in.largest) + *factor * off;
      }
      in.h = z;
      in.m = mz;
    }
    for (int64_t r = 0; r < s.out; ++r) {
      double& y = x.y[r * s.n + i];
      y = s.logistic ? 1 / (1 + std::exp(-in.h[size_t(r)])) : in.h[size_t(r)];
      magnitude.y[r * s.n + i] = s.logistic ? in.m[size_t(r)] / 4 + y : in.m[size_t(r)];
    }
  }
}

void MlpInt8Fwd::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  // Samples that are all zero, and so is every unit then.
  for (int64_t i = 0; random.widely && i < s.n; ++i)
    for (int64_t c = 0, zero = random() % 8 == 0; zero && c < s.in; ++c)
      const_cast<float*>(x.x)[c * s.n + i] = 0;
  int64_t at = 0, row = 0;
  for (int64_t l = 0; l < s.layers(); ++l) {
    const int64_t rows = s.to(l), numbers = rows * s.from(l);
    draw_narrow(narrow_format::int8, numbers, nullptr, const_cast<int8_t*>(x.bytes) + at, rows,
                const_cast<float*>(x.factors) + row, float(1 / std::sqrt(double(s.from(l)))), random);
    at += numbers, row += rows;
  }
  // Sums of the first layer as large as they get: a float holds them no more from some thousand inputs on.
  constexpr int64_t kMany = 1100;
  if (!random.widely || s.in < kMany) return;
  for (int64_t i = 0; i < s.n; ++i) {
    const auto step = float(1 + random() % 8);
    for (int64_t c = 0; c < s.in; ++c)
      const_cast<float*>(x.x)[c * s.n + i] = step * float(127 - random() % 3);
  }
  for (int64_t k = 0; k < s.to(0) * s.in; ++k) const_cast<int8_t*>(x.bytes)[k] = int8_t(127 - random() % 3);
}

}  // namespace klab
