// mlp_bwd.cpu.02_layer_by_layer: each layer three matrix products over all samples.
//
// CHANGE    the loop over layers is outside, the one over samples inside, so that the compiler works on
//           several samples at a time. Activations and gradients of every layer go through memory.
// EXPECT    several times the naive loop. The gradient of the weights sums over samples, the lanes: sixteen
//           partial sums, added up at the end of a chunk.
// NUMERICS  float sums; d_weights in partial sums of a chunk.
// NEEDS     (hidden + 2)·max(width, out)·n floats of scratch, kept between calls.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int64_t kChunk = 64;  // samples whose sums are kept in a small array
constexpr int64_t kLanes = 16;  // partial sums of a dot product

/// sum[j] = Σ_k w[k·w_stride] h[k·n + j] for j < count <= kChunk.
void combine(const float* w, int64_t w_stride, int64_t terms, const float* h, int64_t n, int64_t count,
             float* sum) {
  std::fill_n(sum, kChunk, 0.0F);
  for (int64_t k = 0; k < terms; ++k) {
    const float weight = w[k * w_stride];
    if (count == kChunk) {
      for (int64_t j = 0; j < kChunk; ++j) sum[j] += weight * h[k * n + j];
    } else {
      for (int64_t j = 0; j < count; ++j) sum[j] += weight * h[k * n + j];
    }
  }
}

float dot(const float* a, const float* b, int64_t count) {
  float part[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) part[j] += a[i + j] * b[i + j];
  for (; i < count; ++i) part[0] += a[i] * b[i];
  float sum = 0;
  for (const float p : part) sum += p;
  return sum;
}

/// out[to,n] = w[to,from] h[from,n], negative results cut off if `relu`.
void forward(const float* w, int64_t to, int64_t from, const float* h, int64_t n, bool relu, float* out) {
  float sum[kChunk];
  for (int64_t i = 0; i < n; i += kChunk)
    for (int64_t r = 0; r < to; ++r) {
      const int64_t count = std::min(kChunk, n - i);
      combine(w + r * from, 1, from, h + i, n, count, sum);
      for (int64_t j = 0; j < count; ++j) out[r * n + i + j] = relu && sum[j] < 0 ? 0 : sum[j];
    }
}

/// out[from,n] = w[to,from]^T d[to,n], where `alive` is positive or null.
void backward(const float* w, int64_t to, int64_t from, const float* d, int64_t n, const float* alive,
              float* out) {
  float sum[kChunk];
  for (int64_t i = 0; i < n; i += kChunk)
    for (int64_t c = 0; c < from; ++c) {
      const int64_t count = std::min(kChunk, n - i);
      combine(w + c, from, to, d + i, n, count, sum);
      for (int64_t j = 0; j < count; ++j)
        out[c * n + i + j] = alive && !(alive[c * n + i + j] > 0) ? 0 : sum[j];
    }
}

void run(const MlpBwd::Args<float>& x) {
  const MlpBwd::Shape& s = x.shape;
  const int64_t n = s.n, rows = std::max(s.width, s.out);
  static thread_local std::vector<float> scratch;  // memory only: nothing in it outlives a call
  scratch.resize(size_t((s.hidden + 2) * rows * n));
  const auto activations = [&](int64_t l) { return l == 0 ? x.x : scratch.data() + (l - 1) * rows * n; };
  float* d = scratch.data() + s.hidden * rows * n;
  float* next = d + rows * n;
  for (int64_t l = 0; l < s.hidden; ++l)
    forward(x.weights + s.weight_begin(l), s.width, s.from(l), activations(l), n, true,
            scratch.data() + l * rows * n);
  std::copy_n(x.d_y, s.out * n, d);
  if (s.logistic) {
    forward(x.weights + s.weight_begin(s.hidden), s.out, s.width, activations(s.hidden), n, false, next);
    for (int64_t i = 0; i < s.out * n; ++i)
      d[i] *= 1 / (1 + std::exp(-next[i])) * (1 / (1 + std::exp(next[i])));
  }
  for (int64_t l = s.hidden; l >= 0; --l) {
    const int64_t from = s.from(l), to = s.to(l), begin = s.weight_begin(l);
    const float* h = activations(l);
    for (int64_t i = 0; i < n; i += kChunk)
      for (int64_t r = 0; r < to; ++r)
        for (int64_t c = 0; c < from; ++c)
          x.d_weights[begin + r * from + c] += dot(d + r * n + i, h + c * n + i, std::min(kChunk, n - i));
    backward(x.weights + begin, to, from, d, n, l == 0 ? nullptr : h, l == 0 ? x.d_x : next);
    std::swap(d, next);
  }
}

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "01_naive",
                      .forward = "02_layer_by_layer",
                      .expect = {.shape = {1 << 18, 32, 64, 1, 16, 0}, .over_parent = 2}});

}  // namespace
}  // namespace klab
