// The part of sh_fwd.cpu.03_simd that 04_threads takes over as it is.

void encode(const ShFwd::Args<float>& args, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [n, degree] = args.shape;
  const auto c = [d](float v) HWY_ATTR { return hn::Set(d, v); };
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    const auto x = load_first(d, args.directions + i, count);
    const auto y = load_first(d, args.directions + n + i, count);
    const auto z = load_first(d, args.directions + 2 * n + i, count);
    float* out = args.basis + i;
    const auto put = [&out, d, count, step = n](auto v)
                         HWY_ATTR { store_first(v, d, out, count), out += step; };
    put(c(0.28209479177387814F));
    if (degree < 2) continue;
    put(hn::Mul(c(-0.48860251190291992F), y));
    put(hn::Mul(c(0.48860251190291992F), z));
    put(hn::Mul(c(-0.48860251190291992F), x));
    if (degree < 3) continue;
    const auto xy = hn::Mul(x, y), yz = hn::Mul(y, z), xz = hn::Mul(x, z);
    const auto xx = hn::Mul(x, x), yy = hn::Mul(y, y), zz = hn::Mul(z, z);
    put(hn::Mul(c(1.0925484305920790F), xy));
    put(hn::Mul(c(-1.0925484305920790F), yz));
    put(hn::MulSub(c(0.94617469575755997F), zz, c(0.31539156525252001F)));
    put(hn::Mul(c(-1.0925484305920790F), xz));
    put(hn::Mul(c(0.54627421529603948F), hn::Sub(xx, yy)));
    if (degree < 4) continue;
    const auto ring = hn::NegMulAdd(c(2.2852289973223288F), zz, c(0.45704579946446577F));
    put(hn::Mul(hn::Mul(c(0.59004358992664352F), y), hn::NegMulAdd(c(3), xx, yy)));
    put(hn::Mul(hn::Mul(c(2.8906114426405540F), xy), z));
    put(hn::Mul(ring, y));
    put(hn::Mul(z, hn::MulSub(c(1.8658816629505769F), zz, c(1.1195289977703462F))));
    put(hn::Mul(ring, x));
    put(hn::Mul(hn::Mul(c(1.4453057213202770F), z), hn::Sub(xx, yy)));
    put(hn::Mul(hn::Mul(c(0.59004358992664352F), x), hn::MulSub(c(3), yy, xx)));
  }
}
