// The part of composite_loss_fwd.cpu.02_flat_exponentials that 03_threads takes over as it is.

void composite(const CompositeLossFwd::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [rays, samples, kind] = x.shape;
  const float turn = CompositeLossFwd::turn(kind);
  constexpr int64_t kPiece = 256;  // samples; the data in use stays in L1
  int64_t room = kPiece;
  for (int64_t r = begin_ray; r < end_ray; ++r)
    room = std::max<int64_t>(room, x.ray_begin[r + 1] - x.ray_begin[r]);
  std::vector<float> tau(size_t(room) + 16), behind(size_t(room) + 16);
  for (int64_t first = begin_ray, last; first < end_ray; first = last) {
    // A piece: rays [first, last), whole ones, of samples [from, to).
    const int64_t from = x.ray_begin[first];
    for (last = first + 1; last < end_ray && x.ray_begin[last + 1] - from <= kPiece;) ++last;
    const int64_t to = x.ray_begin[last];
    // 1. Optical depth of every sample, whatever ray it is of.
    for (int64_t i = from; i < to; i += lanes) {
      const size_t count = size_t(std::min(lanes, to - i));
      const auto sigma = exp_saturated(d, load_first(d, x.density_raw + i, count));
      hn::StoreU(hn::Mul(sigma, load_first(d, x.delta + i, count)), d, tau.data() + (i - from));
    }
    // 2. Prefix sums, ray by ray. The next ray overwrites the values stored past the end of a ray.
    for (int64_t r = first; r < last; ++r) {
      auto sum = hn::Zero(d);
      for (int64_t i = x.ray_begin[r] - from; i < x.ray_begin[r + 1] - from; i += lanes) {
        sum = hn::Add(last_lane(d, sum), prefix_sum(d, hn::LoadU(d, tau.data() + i)));
        hn::StoreU(sum, d, behind.data() + i);
      }
    }
    // 3. Transmittance behind every sample.
    for (int64_t i = 0; i < to - from; i += lanes)
      hn::StoreU(exp_minus(d, hn::LoadU(d, behind.data() + i)), d, behind.data() + i);
    // 4. Weighted colors and the loss, ray by ray. Past the end of the ray weights are 0, whatever the next one holds.
    for (int64_t r = first; r < last; ++r) {
      auto red = hn::Zero(d), green = hn::Zero(d), blue = hn::Zero(d), in_front = hn::Set(d, 1.0F);
      const int64_t end = x.ray_begin[r + 1];
      for (int64_t i = x.ray_begin[r]; i < end; i += lanes) {
        const size_t count = size_t(std::min(lanes, end - i));
        const auto after = hn::LoadU(d, behind.data() + (i - from));
        const auto weight =
            hn::IfThenElseZero(hn::FirstN(d, count), hn::Sub(shift_in(d, after, in_front), after));
        red = hn::MulAdd(weight, load_first(d, x.rgb + i, count), red);
        green = hn::MulAdd(weight, load_first(d, x.rgb + samples + i, count), green);
        blue = hn::MulAdd(weight, load_first(d, x.rgb + 2 * samples + i, count), blue);
        in_front = last_lane(d, after);
        if (hn::GetLane(in_front) < float(CompositeLossFwd::stop)) break;
      }
      const float left = end > x.ray_begin[r] ? behind[size_t(end - 1 - from)] : 1;
      float color[4], loss = 0;
      four_sums(d, red, green, blue, hn::Zero(d), color);
      for (int64_t c = 0; c < 3; ++c) {
        const float e = std::abs(color[c] + left * x.background[c * rays + r] - x.target[c * rays + r]);
        const float s = std::min(e, turn);
        loss += kind == 0 ? e * e : s * (e - 0.5F * s);
      }
      x.loss[r] = loss * (1.0F / 3);
    }
  }
}
