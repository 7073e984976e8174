// The part of mlp_fwd.cpu.08_bfloat16 that mlp_narrow_fwd.cpu.03_bfloat16 takes over as it is.

/// Where the packed matrix of a layer begins.
int64_t packed_begin(const MlpFwd::Shape& s, int64_t layer) {
  int64_t words = 0;
  for (int64_t l = 0; l < layer; ++l) words += s.to(l) * pairs(s.from(l));
  return words;
}

/// Samples [begin, end), with weights as pack() leaves them.
KLAB_BF16 void network(const MlpFwd::Shape& s, const uint32_t* packed, const float* x, float* y,
                       int64_t begin, int64_t end) {
  static thread_local Scratch scratch;
  const int64_t tile = pairs(std::max(s.in, s.width)) * kTile, out = s.out * kTile;
  float* memory = scratch.floats(2 * tile + out);
  Tile h{reinterpret_cast<uint32_t*>(memory), nullptr}, next{h.by_channels + tile, nullptr};
  float* rest = memory + 2 * tile;
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t count = std::min(kTile, end - i);
    const bool whole = count == kTile;
    Ahead ahead;
    ahead.add(y + i, whole ? s.out : 0, s.n, true);
    ahead.add(x + i + kTile, i + 2 * kTile <= end ? s.in : 0, s.n, false);
    load_tile(x + i, s.in, s.n, count, h);
    const uint32_t* w = packed;
    for (int64_t l = 0; l < s.hidden; ++l) {
      product<End::relu>(w, s.width, pairs(s.from(l)), h.by_channels, {.tile = next}, ahead);
      w += s.width * pairs(s.from(l));
      std::swap(h, next);
    }
    float* out_rows = whole ? y + i : rest;
    const int64_t stride = whole ? s.n : kTile;
    product<End::plain>(w, s.out, pairs(s.width), h.by_channels, {.rows = out_rows, .stride = stride}, ahead);
    if (s.logistic) logistic(out_rows, s.out, stride);
    if (!whole)
      for (int64_t r = 0; r < s.out; ++r) std::copy_n(rest + r * kTile, count, y + r * s.n + i);
  }
}

/// y = network(x), with the weights as floats: packed once, then tiles shared out among the threads.
void infer(const MlpFwd::Shape& s, const float* weights, const float* x, float* y) {
  static thread_local Scratch scratch;
  auto* packed = reinterpret_cast<uint32_t*>(scratch.floats(packed_begin(s, s.layers())));
  for (int64_t l = 0; l < s.layers(); ++l)
    pack(weights + s.weight_begin(l), s.to(l), s.from(l), s.from(l), 1, packed + packed_begin(s, l));
  const int64_t tiles = (s.n + kTile - 1) / kTile;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = tiles * me / team * kTile, end = std::min(s.n, tiles * (me + 1) / team * kTile);
    if (begin < end) network(s, packed, x, y, begin, end);
  }
}
