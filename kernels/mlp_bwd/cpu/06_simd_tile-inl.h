// The part of mlp_bwd.cpu.06_simd_tile that 07_threads and 08_prefetch take over as it is.

/// t[kTile][pad] = transpose of h[rows][kTile]. Rows of h are there up to a multiple of 4.
void transpose(const float* h, int64_t rows, int64_t pad, float* t) {
  transpose_block(h, kTile, t, pad, (rows + 3) / 4 * 4, kTile);
}

/// R rows by V vectors of sums[to][pad] += d[to][kTile] t[kTile][pad].
template <int64_t R, int64_t V>
void gradient_tile(const float* HWY_RESTRICT d_tile, const float* HWY_RESTRICT t, int64_t pad,
                   float* HWY_RESTRICT sums) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  Vector sum[R][V];
  for (int64_t r = 0; r < R; ++r)
    for (int64_t v = 0; v < V; ++v) sum[r][v] = hn::Load(d, sums + r * pad + v * lanes);
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
#pragma GCC unroll 4  // of the instructions of a turn of 12 multiply-adds, counting would be a sixth
#endif
  for (int64_t i = 0; i < kTile; ++i) {
    Vector in[V];
    for (int64_t v = 0; v < V; ++v) in[v] = hn::Load(d, t + i * pad + v * lanes);
    for (int64_t r = 0; r < R; ++r) {
      const Vector gradient = hn::Set(d, d_tile[r * kTile + i]);
      for (int64_t v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(gradient, in[v], sum[r][v]);
    }
  }
  for (int64_t r = 0; r < R; ++r)
    for (int64_t v = 0; v < V; ++v) hn::Store(sum[r][v], d, sums + r * pad + v * lanes);
}

/// R rows of sums: as many vectors at a time as registers allow.
template <int64_t R>
void gradient_rows(const float* d, const float* t, int64_t pad, float* sums) {
  const int64_t lanes = int64_t(hn::Lanes(Tag()));
  int64_t c = 0;
  for (; c + kVectors * lanes <= pad; c += kVectors * lanes)
    gradient_tile<R, kVectors>(d, t + c, pad, sums + c);
  for (; c + 2 * lanes <= pad; c += 2 * lanes) gradient_tile<R, 2>(d, t + c, pad, sums + c);
  for (; c < pad; c += lanes) gradient_tile<R, 1>(d, t + c, pad, sums + c);
}

/// sums[to][pad] += d[to][kTile] t[kTile][pad].
void weight_gradient(const float* d, int64_t to, const float* t, int64_t pad, float* sums) {
  for (int64_t r = 0; r < to; r += kRows, d += kRows * kTile, sums += kRows * pad) {
    switch (std::min(kRows, to - r)) {
      case 1:
        gradient_rows<1>(d, t, pad, sums);
        break;
      case 2:
        gradient_rows<2>(d, t, pad, sums);
        break;
      case 3:
        gradient_rows<3>(d, t, pad, sums);
        break;
      case 4:
        gradient_rows<4>(d, t, pad, sums);
        break;
      case 5:
        gradient_rows<5>(d, t, pad, sums);
        break;
      default:
        gradient_rows<6>(d, t, pad, sums);
    }
  }
}

/// The tiles and weights one pass over the samples works on.
struct Work {
  explicit Work(const MlpBwd::Args<float>& x) {
    const MlpBwd::Shape& s = x.shape;
    size = padded(std::max({s.in, s.width, s.out})) * kTile;
    layer_begin.push_back(0);
    for (int64_t l = 0; l < s.layers(); ++l)
      layer_begin.push_back(layer_begin.back() + s.to(l) * padded(s.from(l)));
    const int64_t floats = 2 * padded(s.weights()) + layer_begin.back() + (s.hidden + 4) * size;
    memory = hwy::AllocateAligned<float>(size_t(floats));
    std::fill_n(memory.get(), floats, 0.0F);
    packed = memory.get();
    packed_transposed = packed + padded(s.weights());
    sums = packed_transposed + padded(s.weights());
    h = sums + layer_begin.back();
    transposed = h + (s.hidden + 1) * size;
    d = transposed + size;
    next = d + size;
    for (int64_t l = 0; l < s.layers(); ++l) {
      const int64_t from = s.from(l), to = s.to(l), begin = s.weight_begin(l);
      pack(x.weights + begin, to, from, from, 1, packed + begin);
      pack(x.weights + begin, from, to, 1, from, packed_transposed + begin);
    }
  }
  hwy::AlignedFreeUniquePtr<float[]> memory;
  int64_t size = 0;  // floats of a tile
  float *packed = nullptr, *packed_transposed = nullptr;
  float* sums = nullptr;                      // gradients of the weights, rows padded
  std::vector<int64_t> layer_begin;           // where a layer's sums begin
  float *h = nullptr, *transposed = nullptr;  // hidden + 1 tiles; the transpose of one
  float *d = nullptr, *next = nullptr;        // gradients of the layer in hand and of the one before
};
