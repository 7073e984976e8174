// The part of bias_add_bwd.cpu.02_simd that 03_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Channels [j, end).
void sum_up(const BiasAddBwd::Args<float>& x, int64_t j, int64_t end) {
  const Tag d;
  const int64_t n = x.shape.n, c = x.shape.c, hw = x.shape.hw, width = end - j;
  if (hw == 1 && width > 0) {  // columns of a matrix, which go side by side
    static thread_local Scratch memory;
    float* sums = memory.floats(padded(width));
    column_sums(d, x.d_y + j, n, c, width, sums);
    std::copy_n(sums, width, x.d_bias + j);
    return;
  }
  for (; j < end; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += sum_of(d, x.d_y + (i * c + j) * hw, hw);
    x.d_bias[j] = sum;
  }
}
