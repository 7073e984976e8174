// The part of conv2d_bwd.cpu.04_flipped_kernel that 05_threads takes over as it is.

constexpr int64_t kBlock = 512;  // outputs whose d_y and x stay in L1 for all taps

/// The flipped kernel of one phase, for channels [c, c + height): [k, taps of the phase, height].
void pack_weights(const Layer& l, const Phase& phase, const float* w, int64_t c, int64_t height, float* to) {
  for (int64_t k = 0; k < l.s.k; ++k)
    for (const int64_t tap : phase.taps)
      for (int64_t i = 0; i < height; ++i) *to++ = w[(k * l.s.c + c + i) * l.s.taps() + tap];
}

/// d_x of one phase, for channels [c, c + height) of a group of an image: a convolution of d_y with the flipped kernel.
void input_part(const Layer& l, const Phase& phase, const float* d_y, const float* w, int64_t c,
                int64_t height, float* d_x) {
  static thread_local Scratch panel;
  const Conv2dShape& s = l.s;
  HWY_ALIGN float out[kRows * kMaxColumns];
  HWY_ALIGN float none[kRows] = {};
  const auto depth = int64_t(phase.back.size());
  float* weights = panel.floats(depth * kRows);
  pack_weights(l, phase, w, c, height, weights);
  // Rows of the phase inside the image, and columns.
  const int64_t first_row = std::max<int64_t>(0, (s.pad_y - phase.row + s.stride_y - 1) / s.stride_y);
  const int64_t first = std::max<int64_t>(0, (s.pad_x - phase.column + s.stride_x - 1) / s.stride_x);
  const int64_t row = first_row * s.stride_y + phase.row - s.pad_y,
                column = first * s.stride_x + phase.column - s.pad_x;
  if (row >= s.h || column >= s.w) return;
  const int64_t down = (s.h - row + s.stride_y - 1) / s.stride_y,
                across = (s.w - column + s.stride_x - 1) / s.stride_x;
  const int64_t pitch = l.rows.pitch, begin = first_row * pitch + first, count = (down - 1) * pitch + across;
  const Pieces pieces = Pieces::of(count, tiles::kVectors * tiles::lanes(), tiles::lanes());
  for (int64_t p = 0; p < pieces.count; ++p) {
    const int64_t t = pieces.begin(p), length = pieces.begin(p + 1) - t;
    tiles::tile(height, (length + tiles::lanes() - 1) / tiles::lanes(), depth, weights, phase.back.data(),
                d_y + begin + t, none, out);
    for (int64_t i = 0; i < height; ++i)
      for (int64_t from = 0, y = t / pitch, j = t % pitch; from < length; from += pitch - j, j = 0, ++y) {
        float* to = d_x + ((c + i) * s.h + row + y * s.stride_y) * s.w + column + j * s.stride_x;
        const float* sums = out + i * kMaxColumns + from;
        for (int64_t q = 0; q < std::min(across - j, length - from); ++q) to[q * s.stride_x] = sums[q];
      }
  }
}

/// d_w and d_b of output channels [k, k + height) of a group, all input channels. x and d_y: packed images, `x_image` and
/// `d_y_image` floats apart.
void weight_part(const Layer& l, int64_t height, const float* x, int64_t x_image, const float* d_y,
                 int64_t d_y_image, float* d_w, float* d_b) {
  static thread_local Scratch scratch;
  const Conv2dShape& s = l.s;
  const int64_t lanes = tiles::dot_lanes(), stride = s.c * s.taps() * lanes;
  const int64_t length = (l.rows.outputs() + lanes - 1) / lanes * lanes;
  float* sums = scratch.floats(kRows * stride);
  std::fill_n(sums, height * stride, 0.0F);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t t = 0; t < length; t += kBlock)
      for (int64_t c = 0; c < s.c; ++c)
        tiles::dots(height, s.taps(), std::min(kBlock, length - t), d_y + image * d_y_image + l.before + t,
                    l.d_y_channel, x + image * x_image + c * l.rows.channel + t, l.shifts.data(),
                    sums + c * s.taps() * lanes, stride);
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < s.c * s.taps(); ++j)
      d_w[i * s.c * s.taps() + j] = tiles::over_lanes(sums + i * stride + j * lanes);
    float sum[16] = {};
    for (int64_t image = 0; image < s.n; ++image) {
      const float* row = d_y + image * d_y_image + i * l.d_y_channel + l.before;
      int64_t t = 0;
      for (; t + 16 <= length; t += 16)
        for (int64_t q = 0; q < 16; ++q) sum[q] += row[t + q];
      for (; t < length; ++t) sum[0] += row[t];
    }
    d_b[i] = 0;
    for (const float one : sum) d_b[i] += one;
  }
}
