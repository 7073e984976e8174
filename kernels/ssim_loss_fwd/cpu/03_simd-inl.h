// The part of ssim_loss_fwd.cpu.03_simd that 04_threads takes over as it is.

using Args = SsimLossFwd::Args<float>;

/// Rows [begin,end) of the three channels one below the other: their shares of the loss, not divided, to parts[row].
void compare(const Args& x, int64_t begin, int64_t end, double* parts) {
  const SsimTag d;
  const SsimLossFwd::Shape& s = x.shape;
  const int64_t lanes = int64_t(hn::Lanes(d));
  std::vector<PaddedRow> sums(5, PaddedRow(s.width));
  const float alike = x.weight[0], apart = 1 - x.weight[0];
  for (int64_t r = begin; r < end; ++r) {
    const int64_t plane = r / s.height * s.pixels(), row = r % s.height;
    ssim_down(s, x.image + plane, x.target + plane, row, sums.data());
    double part = 0;
    for (int64_t j = 0; j < s.width; j += lanes) {
      const size_t count = size_t(std::min(lanes, s.width - j));
      const SsimParts p = ssim_parts(sums.data(), j);
      const auto value = hn::Div(hn::Mul(p.light, p.structure), hn::Mul(p.light_size, p.structure_size));
      const int64_t at = plane + row * s.width + j;
      const auto off =
          hn::Abs(hn::Sub(load_first(d, x.image + at, count), load_first(d, x.target + at, count)));
      const auto loss =
          hn::MulAdd(hn::Set(d, apart), off, hn::Mul(hn::Set(d, alike), hn::Sub(hn::Set(d, 1.0F), value)));
      part += double(hn::GetLane(hn::SumOfLanes(d, hn::IfThenElseZero(hn::FirstN(d, count), loss))));
    }
    parts[r] = part;
  }
}
