// The part of mlp_fwd.cpu.10_amx_tiles that mlp_narrow_fwd.cpu.04_amx_tiles takes over as it is.

/// Samples [begin, end), with weights as infer() packs them.
template <class Tiles>
void network(const MlpFwd::Shape& s, const uint16_t* packed, const float* x, float* y, int64_t begin,
             int64_t end) {
  static thread_local Scratch scratch;
  const int64_t words = deep_words(std::max(s.in, s.width));
  float* memory = scratch.floats(2 * words + kBlock * kTile + s.out * kTile);
  Tile h{reinterpret_cast<uint32_t*>(memory), nullptr}, next{h.by_channels + words, nullptr};
  float *sums = memory + 2 * words, *rest = sums + kBlock * kTile;
  Tiles::configure(whole_tiles());
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t count = std::min(kTile, end - i);
    const bool whole = count == kTile;
    Ahead ahead;
    ahead.add(y + i, whole ? s.out : 0, s.n, true);
    ahead.add(x + i + kTile, i + 2 * kTile <= end ? s.in : 0, s.n, false);
    load_rows(x + i, s.in, s.n, count, h);
    clear_rest(h, s.in);
    const uint16_t* w = packed;
    for (int64_t l = 0; l < s.hidden; ++l) {
      layer<Tiles, End::relu>(w, s.width, s.from(l), h, {.tile = next}, sums, ahead);
      w += packed_size(s.width, s.from(l));
      std::swap(h, next);
    }
    float* out_rows = whole ? y + i : rest;
    const int64_t stride = whole ? s.n : kTile;
    layer<Tiles, End::plain>(w, s.out, s.width, h, {.rows = out_rows, .stride = stride}, sums, ahead);
    if (s.logistic) logistic_rows(out_rows, s.out, stride);
    if (!whole)
      for (int64_t r = 0; r < s.out; ++r) std::copy_n(rest + r * kTile, count, y + r * s.n + i);
  }
  Tiles::release();
}

/// y = network(x), with the weights as floats: packed once, then tiles shared out among the threads.
void infer(const MlpFwd::Shape& s, const float* weights, const float* x, float* y) {
  static thread_local Scratch scratch;
  int64_t numbers = 0;
  for (int64_t l = 0; l < s.layers(); ++l) numbers += packed_size(s.to(l), s.from(l));
  auto* const packed = reinterpret_cast<uint16_t*>(scratch.floats(numbers / 2));
  uint16_t* at = packed;
  for (int64_t l = 0; l < s.layers(); ++l) {
    pack_rows(weights + s.weight_begin(l), s.to(l), s.from(l), s.from(l), 1, at);
    at += packed_size(s.to(l), s.from(l));
  }
  const int64_t parts = (s.n + kTile - 1) / kTile;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = parts * me / team * kTile, end = std::min(s.n, parts * (me + 1) / team * kTile);
    if (begin < end)
      tiles::on_tiles([&](auto unit) { network<decltype(unit)>(s, packed, x, y, begin, end); });
  }
}
