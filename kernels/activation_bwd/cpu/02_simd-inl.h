// The part of activation_bwd.cpu.02_simd that 03_threads takes over as it is.

template <int64_t kind>
void apply_one(const ActivationBwd::Args<float>& x, int64_t i, int64_t end) {
  const float *in = x.x + i, *d_y = x.d_y + i;
  write_run(Tag(), x.d_x + i, end - i, false,
            [in, d_y](const auto& load) HWY_ATTR { return hn::Mul(load(d_y), slope<kind>(load(in))); });
}

/// Elements [i, end).
void apply(const ActivationBwd::Args<float>& x, int64_t i, int64_t end) {
  switch (x.shape.kind) {
    case activation::relu:
      return apply_one<activation::relu>(x, i, end);
    case activation::sigmoid:
      return apply_one<activation::sigmoid>(x, i, end);
    case activation::tanh:
      return apply_one<activation::tanh>(x, i, end);
    case activation::gelu:
      return apply_one<activation::gelu>(x, i, end);
    case activation::swish:
      return apply_one<activation::swish>(x, i, end);
    default:
      return apply_one<activation::softplus>(x, i, end);
  }
}
