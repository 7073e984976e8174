// mlp_fwd.cpu.02_layer_by_layer: each layer one matrix product over all samples.
//
// CHANGE    the loop over layers is outside, the one over samples inside: neighboring samples are
//           neighbors in memory, so the compiler adds several at a time. Activations of a whole layer go
//           through memory.
// EXPECT    several times the naive loop, from vectors alone. Per sample a 64-wide hidden layer now costs
//           512 bytes of traffic, written once and read once.
// NUMERICS  as the parent: the same sums in the same order.
// NEEDS     2·width·n floats of scratch, kept between calls.
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

constexpr int64_t kChunk = 64;  // samples whose sums are kept in a small array

/// out[to,n] = w[to,from] h[from,n], negative results cut off if `relu`.
void layer(const float* w, int64_t to, int64_t from, const float* h, int64_t n, bool relu, float* out) {
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = n - i < kChunk ? n - i : kChunk;
    for (int64_t r = 0; r < to; ++r) {
      float sum[kChunk] = {};
      for (int64_t c = 0; c < from; ++c) {
        const float weight = w[r * from + c];
        const float* row = h + c * n + i;
        if (count == kChunk) {
          for (int64_t j = 0; j < kChunk; ++j) sum[j] += weight * row[j];
        } else {
          for (int64_t j = 0; j < count; ++j) sum[j] += weight * row[j];
        }
      }
      for (int64_t j = 0; j < count; ++j) out[r * n + i + j] = relu && sum[j] < 0 ? 0 : sum[j];
    }
  }
}

void run(const MlpFwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  static thread_local std::vector<float> scratch;  // memory only: nothing in it outlives a call
  scratch.resize(size_t(2 * s.width * s.n));
  float* activations[2] = {scratch.data(), scratch.data() + s.width * s.n};
  const float* h = x.x;
  for (int64_t l = 0; l < s.layers(); ++l) {
    float* out = l == s.hidden ? x.y : activations[l % 2];
    layer(x.weights + s.weight_begin(l), s.to(l), s.from(l), h, s.n, l < s.hidden, out);
    h = out;
  }
  if (s.logistic)
    for (int64_t i = 0; i < s.out * s.n; ++i) x.y[i] = 1 / (1 + std::exp(-x.y[i]));
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "01_naive",
                      .expect = {.shape = {1 << 18, 32, 64, 1, 16, 0}, .over_parent = 2}});

}  // namespace
}  // namespace klab
