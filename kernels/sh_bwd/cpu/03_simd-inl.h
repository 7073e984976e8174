// The part of sh_bwd.cpu.03_simd that 04_threads takes over as it is.

void gradient(const ShBwd::Args<float>& args, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [n, degree] = args.shape;
  const auto c = [d](float v) HWY_ATTR { return hn::Set(d, v); };
  for (int64_t i = begin; i < end; i += lanes) {
    const size_t count = size_t(std::min(lanes, end - i));
    const auto g = [&, step = n](int64_t k)
                       HWY_ATTR { return load_first(d, args.d_basis + k * step + i, count); };
    auto dx = hn::Zero(d), dy = dx, dz = dx;
    if (degree >= 2) {
      dy = hn::Mul(c(-0.48860251190291992F), g(1));
      dz = hn::Mul(c(0.48860251190291992F), g(2));
      dx = hn::Mul(c(-0.48860251190291992F), g(3));
    }
    if (degree >= 3) {
      const auto x = load_first(d, args.directions + i, count);
      const auto y = load_first(d, args.directions + n + i, count);
      const auto z = load_first(d, args.directions + 2 * n + i, count);
      // 1.09·(g4·xy - g5·yz - g7·xz + g8·(x^2 - y^2)/2), each gradient times its factor once.
      const auto g4 = hn::Mul(c(1.0925484305920790F), g(4)), g5 = hn::Mul(c(-1.0925484305920790F), g(5));
      const auto g7 = hn::Mul(c(-1.0925484305920790F), g(7)), g8 = hn::Mul(c(1.0925484305920790F), g(8));
      dx = hn::MulAdd(g4, y, hn::MulAdd(g7, z, hn::MulAdd(g8, x, dx)));
      dy = hn::MulAdd(g4, x, hn::MulAdd(g5, z, hn::NegMulAdd(g8, y, dy)));
      dz = hn::MulAdd(g5, y, hn::MulAdd(g7, x, hn::MulAdd(hn::Mul(c(1.8923493915151199F), g(6)), z, dz)));
      if (degree >= 4) {
        const auto xy = hn::Mul(x, y), yz = hn::Mul(y, z), xz = hn::Mul(x, z), zz = hn::Mul(z, z);
        const auto across = hn::MulSub(y, y, hn::Mul(x, x));  // y^2 - x^2
        const auto ring = hn::NegMulAdd(c(2.2852289973223288F), zz, c(0.45704579946446577F));
        const auto g9 = hn::Mul(c(1.7701307697799305F), g(9)), g15 = hn::Mul(c(1.7701307697799305F), g(15));
        const auto g10 = hn::Mul(c(2.8906114426405540F), g(10)), g14 = hn::Mul(c(2.8906114426405540F), g(14));
        const auto g11 = g(11), g13 = g(13), two_xy = hn::Add(xy, xy);
        dx = hn::NegMulAdd(g9, two_xy, hn::MulAdd(g15, across, dx));
        dx = hn::MulAdd(g10, yz, hn::MulAdd(g14, xz, hn::MulAdd(g13, ring, dx)));
        dy = hn::MulAdd(g9, across, hn::MulAdd(g15, two_xy, dy));
        dy = hn::MulAdd(g10, xz, hn::NegMulAdd(g14, yz, hn::MulAdd(g11, ring, dy)));
        dz = hn::MulAdd(g10, xy, hn::NegMulAdd(hn::Mul(g14, c(0.5F)), across, dz));
        dz = hn::NegMulAdd(hn::Mul(c(4.5704579946446577F), g11), yz, dz);
        dz = hn::NegMulAdd(hn::Mul(c(4.5704579946446577F), g13), xz, dz);
        dz = hn::MulAdd(g(12), hn::MulSub(c(5.5976449888517312F), zz, c(1.1195289977703462F)), dz);
      }
    }
    store_first(dx, d, args.d_directions + i, count);
    store_first(dy, d, args.d_directions + n + i, count);
    store_first(dz, d, args.d_directions + 2 * n + i, count);
  }
}
