// The part of adamw_master.cpu.02_fused that 03_threads takes over as it is.

/// Entries [i, end), the step count being raised already.
void update(const AdamwMaster::Args<float>& x, int64_t i, int64_t end) {
  using namespace optimizer;
  float* __restrict__ master = x.master;
  Bfloat16* __restrict__ weight = x.weight;
  if (*x.first != AdamwMaster::kAllFinite) {
    for (; i < end; ++i) weight[i] = to_bfloat16(master[i]);
    return;
  }
  const float *h = x.hyper, unscaled = 1 / *x.scale, b1 = h[beta1], b2 = h[beta2], tiny = h[epsilon];
  const float rate1 = h[rate] / float(1 - std::pow(double(b1), *x.steps)), kept = 1 - h[rate] * h[decay];
  const float correct2 = float(1 - std::pow(double(b2), *x.steps));
  const float* __restrict__ gradient = x.gradient;
  float* __restrict__ m = x.m, * __restrict__ v = x.v;
#pragma omp simd
  for (int64_t k = i; k < end; ++k) {
    const float g = gradient[k] * unscaled;
    m[k] = b1 * m[k] + (1 - b1) * g;
    v[k] = b2 * v[k] + (1 - b2) * g * g;
    master[k] = kept * master[k] - rate1 * m[k] / (std::sqrt(v[k] / correct2) + tiny);
    weight[k] = to_bfloat16(master[k]);
  }
}
