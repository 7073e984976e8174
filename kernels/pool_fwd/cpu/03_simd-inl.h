// The part of pool_fwd.cpu.03_simd that 04_threads takes over as it is.

/// y[j] = row[j·stride .. j·stride + s) reduced, times scale[j] where it is an average. The row has neutral
/// values on both sides, and kBeyond numbers more.
template <bool is_max>
void reduce_columns(const PoolShape& s, const float* HWY_RESTRICT row, const float* HWY_RESTRICT scale,
                    float* HWY_RESTRICT y) {
  const Tag d;
  const auto vector = [&](int64_t j) {
    auto all = hn::Zero(d), odd = all;
    if (s.stride_x == 1) {
      all = hn::LoadU(d, row + j);
      for (int64_t v = 1; v < s.s; ++v) all = reduced<is_max>(all, hn::LoadU(d, row + j + v));
    } else {
      hn::LoadInterleaved2(d, row + 2 * j, all, odd);
      if (s.s > 1) all = reduced<is_max>(all, odd);
      for (int64_t v = 2; v < s.s; v += 2) {
        auto even = all;
        hn::LoadInterleaved2(d, row + 2 * j + v, even, odd);
        all = reduced<is_max>(all, even);
        if (v + 1 < s.s) all = reduced<is_max>(all, odd);
      }
    }
    hn::StoreU(is_max ? all : hn::Mul(all, hn::LoadU(d, scale + j)), d, y + j);
  };
  const int64_t ow = s.ow();
  int64_t j = 0;
  if (s.stride_x <= 2) {
    for (; j + lanes() <= ow; j += lanes()) vector(j);
    if (j > 0 && j < ow) return vector(ow - lanes());
  }
  for (; j < ow; ++j) {
    float all = row[j * s.stride_x];
    for (int64_t v = 1; v < s.s; ++v) all = reduced<is_max>(all, row[j * s.stride_x + v]);
    y[j] = is_max ? all : all * scale[j];
  }
}

/// One output row of pictures whose pixels are `size` channels that lie together: a window's vectors are
/// contiguous.
template <bool is_max>
void reduce_pixels(const PoolShape& s, PoolShape::Range down, const float* HWY_RESTRICT x,
                   const float* HWY_RESTRICT scale, float* HWY_RESTRICT y) {
  const Tag d;
  const int64_t size = s.c;
  for (int64_t j = 0; j < s.ow(); ++j, y += size) {
    const PoolShape::Range across = s.columns(j);
    const auto reduce = [&](auto first, auto next) {
      auto all = first(x + (down.begin * s.w + across.begin) * size);
      for (int64_t p = down.begin; p < down.end; ++p)
        for (int64_t q = across.begin + (p == down.begin ? 1 : 0); q < across.end; ++q)
          all = next(all, x + (p * s.w + q) * size);
      return all;
    };
    int64_t k = 0;
    for (; k + lanes() <= size; k += lanes()) {
      const auto all =
          reduce([&](const float* at) { return hn::LoadU(d, at + k); },
                 [&](auto sum, const float* at) { return reduced<is_max>(sum, hn::LoadU(d, at + k)); });
      hn::StoreU(is_max ? all : hn::Mul(all, hn::Set(d, scale[j])), d, y + k);
    }
    for (; k < size; ++k) {
      const float all = reduce([&](const float* at) { return at[k]; },
                               [&](float sum, const float* at) { return reduced<is_max>(sum, at[k]); });
      y[k] = is_max ? all : all * scale[j];
    }
  }
}

/// Output rows [begin, end) of all pictures, counted through. A picture has pixels of `size` numbers.
template <bool is_max>
void output_rows(const PoolFwd::Args<float>& x, int64_t size, int64_t begin, int64_t end) {
  static thread_local Scratch row_scratch;
  const PoolShape& s = x.shape;
  const int64_t oh = s.oh(), ow = s.ow(), picture = s.h * s.w * size, beyond = s.s + kBeyond;
  const bool whole = size == 1 && s.r == s.h && s.s == s.w && s.pad_y + s.pad_x == 0;
  float* row = row_scratch.floats(s.w + 2 * s.pad_x + beyond);
  std::fill_n(row, s.w + 2 * s.pad_x + beyond, is_max ? -std::numeric_limits<float>::infinity() : 0.0F);
  rows::Scales scales(s);
  for (int64_t i = begin; i < end; ++i) {
    const PoolShape::Range down = s.rows(i % oh);
    const float *scale = is_max ? nullptr : scales.of(down), *from = x.x + i / oh * picture;
    if (whole) {
      x.y[i] = rows::reduce_all<is_max>(from, picture) * (is_max ? 1 : *scale);
    } else if (size > 1) {
      reduce_pixels<is_max>(s, down, from, scale, x.y + i * ow * size);
    } else {
      rows::reduce_rows<is_max>(from + down.begin * s.w, down.end - down.begin, s.w, row + s.pad_x);
      reduce_columns<is_max>(s, row, scale, x.y + i * ow);
    }
  }
}
