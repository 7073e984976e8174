// mlp_bwd.cpu.03_fused_tile: a tile of samples goes through the network and back before the next one begins.
//
// CHANGE    64 samples at a time: their activations are computed again, used and forgotten, all in a few
//           tiles of 16 KB. Only x, d_y and d_x touch memory.
// EXPECT    faster where the parent waits for memory or for conflicting sets of its cache: rows are 256
//           bytes apart now, not n floats. The arithmetic is the same.
// NUMERICS  as the parent.
// NEEDS     (hidden + 3) tiles; nothing that grows with n.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int64_t kTile = 64;   // samples
constexpr int64_t kLanes = 16;  // partial sums of a dot product

/// sum[j] = Σ_k w[k·w_stride] h[k][j].
void combine(const float* w, int64_t w_stride, int64_t terms, const float* h, float* sum) {
  std::fill_n(sum, kTile, 0.0F);
  for (int64_t k = 0; k < terms; ++k) {
    const float weight = w[k * w_stride];
    for (int64_t j = 0; j < kTile; ++j) sum[j] += weight * h[k * kTile + j];
  }
}

float dot(const float* a, const float* b) {
  float part[kLanes] = {};
  for (int64_t i = 0; i < kTile; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) part[j] += a[i + j] * b[i + j];
  float sum = 0;
  for (const float p : part) sum += p;
  return sum;
}

/// out[to][kTile] = w[to,from] h[from][kTile], negative results cut off if `relu`.
void forward(const float* w, int64_t to, int64_t from, const float* h, bool relu, float* out) {
  for (int64_t r = 0; r < to; ++r, out += kTile) {
    combine(w + r * from, 1, from, h, out);
    if (relu)
      for (int64_t j = 0; j < kTile; ++j) out[j] = out[j] < 0 ? 0 : out[j];
  }
}

/// out[from][kTile] = w[to,from]^T d[to][kTile], where `alive` is positive or null.
void backward(const float* w, int64_t to, int64_t from, const float* d, const float* alive, float* out) {
  for (int64_t c = 0; c < from; ++c) {
    combine(w + c, from, to, d, out + c * kTile);
    if (alive)
      for (int64_t j = c * kTile; j < (c + 1) * kTile; ++j) out[j] = alive[j] > 0 ? out[j] : 0;
  }
}

/// Rows of `count` samples, stride apart, into a tile; samples missing to a whole tile are zero.
void load_tile(const float* x, int64_t rows, int64_t stride, int64_t count, float* tile) {
  for (int64_t r = 0; r < rows; ++r, x += stride, tile += kTile)
    std::fill(std::copy_n(x, count, tile), tile + kTile, 0.0F);
}

void run(const MlpBwd::Args<float>& x) {
  const MlpBwd::Shape& s = x.shape;
  const int64_t size = std::max({s.in, s.width, s.out}) * kTile;
  std::vector<float> tiles(size_t((s.hidden + 3) * size));
  const auto activations = [&](int64_t l) { return tiles.data() + l * size; };
  float *d = activations(s.hidden + 1), *next = d + size;
  for (int64_t i = 0; i < s.n; i += kTile) {
    const int64_t count = std::min(kTile, s.n - i);
    load_tile(x.x + i, s.in, s.n, count, activations(0));
    for (int64_t l = 0; l < s.hidden; ++l)
      forward(x.weights + s.weight_begin(l), s.width, s.from(l), activations(l), true, activations(l + 1));
    load_tile(x.d_y + i, s.out, s.n, count, d);
    if (s.logistic) {
      forward(x.weights + s.weight_begin(s.hidden), s.out, s.width, activations(s.hidden), false, next);
      for (int64_t j = 0; j < s.out * kTile; ++j)
        d[j] *= 1 / (1 + std::exp(-next[j])) * (1 / (1 + std::exp(next[j])));
    }
    for (int64_t l = s.hidden; l >= 0; --l) {
      const int64_t from = s.from(l), to = s.to(l), begin = s.weight_begin(l);
      for (int64_t r = 0; r < to; ++r)
        for (int64_t c = 0; c < from; ++c)
          x.d_weights[begin + r * from + c] += dot(d + r * kTile, activations(l) + c * kTile);
      backward(x.weights + begin, to, from, d, l == 0 ? nullptr : activations(l), next);
      std::swap(d, next);
    }
    for (int64_t c = 0; c < s.in; ++c) std::copy_n(d + c * kTile, count, x.d_x + c * s.n + i);
  }
}

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "02_layer_by_layer",
                      .forward = "02_layer_by_layer",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
