#include "reference/allreduce_gradients/allreduce_gradients.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/generator.h"
#include "reference/relations.h"

namespace klab {
namespace {

std::string different_replica(const AllreduceGradients::Args<float>& x) {
  const auto& s = x.shape;
  for (int64_t r = 1; r < s.ranks; ++r)
    for (int64_t i = 0; i < s.n; ++i) {
      const float mine = x.param[r * s.n + i], first = x.param[i];
      if (std::bit_cast<uint32_t>(mine) == std::bit_cast<uint32_t>(first)) continue;
      if (std::isnan(mine) && std::isnan(first)) continue;
      return value_text("param", {r, i}, mine) + ", " + value_text("param", {0, i}, first);
    }
  return "";
}

const Related<AllreduceGradients, different_replica> kReplicas("all replicas are the same bit by bit");

}  // namespace

void AllreduceGradients::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  std::uniform_real_distribution<double> unit(0, 1);
  *const_cast<float*>(x.rate) = random.widely ? float(std::pow(10.0, 6 * unit(random) - 5)) : 1e-2F;
  auto* gradient = const_cast<float*>(x.gradient);
  for (int64_t r = 0; r < s.ranks; ++r) {
    if (r > 0) std::copy_n(x.param, s.n, x.param + r * s.n);
    // Some ranks of a wide draw have touched nothing, some everything; and blocks have one entry, at any place.
    const double touched = random.widely ? 1.4 * unit(random) - 0.2 : double(s.touched_percent) / 100;
    const double lonely = random.widely ? 0.3 : 0.0;
    for (int64_t begin = 0; begin < s.n; begin += s.block) {
      const int64_t end = std::min(s.n, begin + s.block);
      const bool zero = unit(random) >= touched;
      if (!zero && !(unit(random) < lonely)) {
        // Some blocks have gradients that add up to zero, though none of them is zero.
        const bool opposite = random.widely && random() % 4 == 0;
        for (int64_t i = begin; opposite && i + 1 < end && (end - begin) % 2 == 0; i += 2)
          gradient[r * s.n + i + 1] = -gradient[r * s.n + i];
        continue;
      }
      const int64_t kept = zero ? -1 : begin + int64_t(random() % uint64_t(end - begin));
      for (int64_t i = begin; i < end; ++i)
        if (i != kept) gradient[r * s.n + i] = random.widely && random() % 2 ? -0.0F : 0.0F;
    }
  }
}

void AllreduceGradients::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  const double factor = *x.rate / double(s.ranks);
  for (int64_t i = 0; i < s.n; ++i) {
    double sum = 0, size = 0;
    for (int64_t q = 0; q < s.ranks; ++q) {
      sum += x.gradient[q * s.n + i];
      size += std::abs(x.gradient[q * s.n + i]);
    }
    for (int64_t r = 0; r < s.ranks; ++r) {
      double& param = x.param[r * s.n + i];
      magnitude.param[r * s.n + i] = std::abs(param) + std::abs(factor) * size;
      param -= factor * sum;
    }
  }
}

}  // namespace klab
