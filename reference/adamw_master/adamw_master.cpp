#include "reference/adamw_master/adamw_master.h"

#include <bit>
#include <cmath>

#include "reference/generator.h"
#include "reference/relations.h"

namespace klab {
namespace {

std::string weight_of_another_master(const AdamwMaster::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const auto want = bfloat16_from_double(x.master[i]), got = uint16_t(x.weight[i]);
    if (got == want || std::isnan(x.master[i])) continue;
    return value_text("weight", {i}, float_from_bfloat16(got)) + ", " +
           value_text("master", {i}, x.master[i]);
  }
  return "";
}

const Related<AdamwMaster, weight_of_another_master> kWeights(
    "weights are their masters rounded to nearest even");

}  // namespace

void AdamwMaster::arrange(const Args<float>& x, Generator& random) {
  auto* h = const_cast<float*>(x.hyper);  // arrange() owns the inputs
  auto scale = float(1 << random() % 17);
  if (random.widely) {
    optimizer::arrange(1, h, x.steps, random);
    scale = std::ldexp(1.0F, int(random() % 41) - 16);
  } else {
    h[optimizer::rate] = float(1e-2 * (0.5 + double(random() % 1000) / 1000));
    h[optimizer::beta1] = 0.9F;
    h[optimizer::beta2] = 0.99F;
    h[optimizer::epsilon] = 1e-8F;
    h[optimizer::decay] = random() % 2 ? 1e-2F : 0;
    *x.steps = int32_t(random() % 2 ? random() % 4 : random() % 2000);
  }
  *const_cast<float*>(x.scale) = scale;
  // Few steps are skipped: timing sees one that is taken.
  *const_cast<int32_t*>(x.first) = !random.widely || random() % 3 ? kAllFinite : int32_t(random() % 100);
  for (int64_t i = 0; i < x.shape.n; ++i) const_cast<float*>(x.gradient)[i] *= scale;
  // Masters in the middle between two weights, which a step that is skipped leaves there.
  for (int64_t i = 0; random.widely && i < x.shape.n; ++i)
    if (random() % 8 == 0)
      x.master[i] = std::bit_cast<float>((std::bit_cast<uint32_t>(x.master[i]) & 0xFFFF0000U) | 0x8000U);
}

void AdamwMaster::reference(const Args<double>& x, const Args<double>& magnitude) {
  using namespace optimizer;
  const double* h = x.hyper;
  const bool finite = *x.first == kAllFinite;
  if (finite) ++*x.steps;
  const double correct1 = 1 - std::pow(h[beta1], *x.steps), correct2 = 1 - std::pow(h[beta2], *x.steps);
  for (int64_t i = 0; i < x.shape.n; ++i) {
    double &master = x.master[i], &m = x.m[i], &v = x.v[i];
    // A skipped step rounds only the weight, once.
    magnitude.master[i] = magnitude.m[i] = magnitude.v[i] = 0;
    if (finite) {
      magnitude.master[i] = std::abs(master);
      const double g = x.gradient[i] / *x.scale;
      const double M = h[beta1] * std::abs(m) + (1 - h[beta1]) * std::abs(g);
      const double V = h[beta2] * v + (1 - h[beta2]) * g * g;
      m = h[beta1] * m + (1 - h[beta1]) * g;
      v = V;
      magnitude.m[i] = M;
      magnitude.v[i] = V;
      const Root root(V, V, correct2, h[epsilon]);
      const double step = h[rate] / correct1 / root.denominator;
      magnitude.master[i] += step * M * root.growth + root.lost(h[rate] / correct1);
      master = (1 - h[rate] * h[decay]) * master - step * m;
    }
    x.weight[i] = Bfloat16{bfloat16_from_double(master)};
    magnitude.weight[i] = Bfloat16{bfloat16_from_double(2 * magnitude.master[i])};
  }
}

}  // namespace klab
