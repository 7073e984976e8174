// The part of bias_add_fwd.cpu.02_simd that 03_threads takes over as it is.

using Tag = hn::CappedTag<float, 16>;
using V = hn::Vec<Tag>;

/// Examples [i, end) where hw is 1, else channels [i, end) of all examples.
void add(const BiasAddFwd::Args<float>& x, int64_t i, int64_t end) {
  const Tag d;
  const int64_t c = x.shape.c, hw = x.shape.hw;
  const float* bias = x.bias;
  for (; i < end && hw == 1; ++i) {
    const float* row = x.x + i * c;
    write_run(d, x.y + i * c, c, false,
              [row, bias](const auto& load) HWY_ATTR { return hn::Add(load(row), load(bias)); });
  }
  for (; i < end; ++i) {
    const float* run = x.x + i * hw;
    const V b = hn::Set(d, bias[i % c]);
    write_run(d, x.y + i * hw, hw, false,
              [run, b](const auto& load) HWY_ATTR { return hn::Add(load(run), b); });
  }
}
