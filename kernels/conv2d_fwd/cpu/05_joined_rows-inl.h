// The part of conv2d_fwd.cpu.05_joined_rows that 06_threads takes over as it is.

/// A group's weights [k, depth] as panels of kRows channels, the last as high as it must be.
void pack_weights(const float* from, int64_t k, int64_t depth, float* to) {
  for (int64_t i = 0; i < k; i += kRows) {
    const int64_t height = std::min(kRows, k - i);
    sgemm::transpose_panels(from + i * depth, depth, height, depth, height, to + i * depth);
  }
}

/// State that all tiles of a layer share.
struct Layer {
  JoinedRows rows;
  std::vector<int64_t> shifts;
  Pieces columns;  // of the joined outputs

  explicit Layer(const Conv2dShape& s)
      : rows(s),
        shifts(conv::shifts_of(s, rows, rows.channel)),
        columns(Pieces::of(rows.outputs(), tiles::kVectors * tiles::lanes(), tiles::lanes())) {}
  int64_t depth() const { return int64_t(shifts.size()); }
  /// Output channels whose weights are one block.
  int64_t block() const { return std::max<int64_t>(1, kBlockWeights / (kRows * depth() + 1)) * kRows; }
};

/// One piece of the joined outputs of channels [begin, end). picture: input of the group; y: its output.
void piece(const Layer& layer, int64_t which, int64_t begin, int64_t end, const float* picture,
           const float* weights, const float* bias, float* y) {
  HWY_ALIGN float out[kRows * tiles::kMaxColumns];
  const JoinedRows& rows = layer.rows;
  const int64_t t = layer.columns.begin(which), count = layer.columns.begin(which + 1) - t;
  const int64_t wide = (count + tiles::lanes() - 1) / tiles::lanes(), plane = rows.oh * rows.ow;
  for (int64_t k = begin; k < end; k += kRows) {
    const int64_t height = std::min(kRows, end - k);
    tiles::tile(height, wide, layer.depth(), weights + k * layer.depth(), layer.shifts.data(), picture + t,
                bias + k, out);
    for (int64_t r = 0; r < height; ++r)
      rows.each_piece(t, count, [&](int64_t from, int64_t to, int64_t length) {
        std::copy_n(out + r * tiles::kMaxColumns + from, length, y + (k + r) * plane + to);
      });
  }
}

/// Whether tiles may read the picture where it lies: no padding, no stride, and no vector that reaches beyond x.
bool in_place(const Layer& layer, const Conv2dShape& s, int64_t image, int64_t g) {
  const bool last = image + 1 == s.n && g + 1 == s.groups;
  return layer.rows.is_plain() && (!last || layer.rows.outputs() % tiles::lanes() == 0);
}
