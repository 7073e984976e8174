// The part of composite_bwd.cpu.04_flat_exponentials that 05_threads takes over as it is.

/// Rays [begin_ray, end_ray).
void composite(const CompositeBwd::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [rays, samples] = x.shape;
  constexpr int64_t kPiece = 256;  // samples; the data in use stays in L1
  int64_t room = kPiece;
  for (int64_t r = begin_ray; r < end_ray; ++r)
    room = std::max<int64_t>(room, x.ray_begin[r + 1] - x.ray_begin[r]);
  std::vector<float> tau(size_t(room) + 16), slope(size_t(room) + 16), behind(size_t(room) + 16);
  const auto least = hn::Set(d, 3.05902321e-7F), most = hn::Set(d, 3269017.37F);  // exp(-15), exp(15)
  for (int64_t first = begin_ray, last; first < end_ray; first = last) {
    // A piece: rays [first, last), whole ones, of samples [from, to).
    const int64_t from = x.ray_begin[first];
    for (last = first + 1; last < end_ray && x.ray_begin[last + 1] - from <= kPiece;) ++last;
    const int64_t to = x.ray_begin[last];
    // 1. Optical depth of every sample and its derivative, whatever ray it is of.
    for (int64_t i = from; i < to; i += lanes) {
      const size_t count = size_t(std::min(lanes, to - i));
      const auto sigma = exp_saturated(d, load_first(d, x.density_raw + i, count));
      const auto delta = load_first(d, x.delta + i, count);
      hn::StoreU(hn::Mul(sigma, delta), d, tau.data() + (i - from));
      hn::StoreU(hn::Mul(hn::Min(hn::Max(sigma, least), most), delta), d, slope.data() + (i - from));
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
    // 4. Gradients, ray by ray. Past the end of the ray weights, colors and distances are 0, whatever the next one holds.
    for (int64_t r = first; r < last; ++r) {
      const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
      const auto red = hn::Set(d, x.d_color[r]), green = hn::Set(d, x.d_color[rays + r]);
      const auto blue = hn::Set(d, x.d_color[2 * rays + r]), depth = hn::Set(d, x.d_depth[r]);
      auto in_front = hn::Set(d, 1.0F);  // transmittance in front of this vector, in all lanes
      auto prefix = hn::Zero(d);         // sum of weight times payload so far, in the last lane
      int64_t i = begin;
      for (; i < end && hn::GetLane(in_front) >= float(CompositeFwd::stop); i += lanes) {
        const size_t count = size_t(std::min(lanes, end - i));
        const auto after = hn::LoadU(d, behind.data() + (i - from));
        const auto weight =
            hn::IfThenElseZero(hn::FirstN(d, count), hn::Sub(shift_in(d, after, in_front), after));
        // Lanes past the end hold another ray's; the last one of this ray is needed for its background.
        in_front = end - i < lanes ? hn::Set(d, behind[size_t(end - 1 - from)]) : last_lane(d, after);
        auto p = hn::Mul(depth, load_first(d, x.t + i, count));
        p = hn::MulAdd(red, load_first(d, x.rgb + i, count), p);
        p = hn::MulAdd(green, load_first(d, x.rgb + samples + i, count), p);
        p = hn::MulAdd(blue, load_first(d, x.rgb + 2 * samples + i, count), p);
        prefix = hn::Add(last_lane(d, prefix), prefix_sum(d, hn::Mul(weight, p)));
        store_first(hn::Mul(weight, red), d, x.d_rgb + i, count);
        store_first(hn::Mul(weight, green), d, x.d_rgb + samples + i, count);
        store_first(hn::Mul(weight, blue), d, x.d_rgb + 2 * samples + i, count);
        hn::StoreU(hn::MulAdd(after, p, prefix), d, tau.data() + (i - from));
      }
      const float q = x.d_color[r] * x.background[r] + x.d_color[rays + r] * x.background[rays + r] +
                      x.d_color[2 * rays + r] * x.background[2 * rays + r] - x.d_opacity[r];
      const auto total = hn::Set(d, hn::GetLane(last_lane(d, prefix)) + hn::GetLane(in_front) * q);
      for (int64_t k = begin; k < std::min(i, end); k += lanes) {
        const auto gradient = hn::Mul(hn::LoadU(d, slope.data() + (k - from)),
                                      hn::Sub(hn::LoadU(d, tau.data() + (k - from)), total));
        store_first(gradient, d, x.d_density_raw + k, size_t(std::min(lanes, end - k)));
      }
      for (i = std::min(i, end); i < end; i += lanes) {  // left out
        const size_t count = size_t(std::min(lanes, end - i));
        store_first(hn::Zero(d), d, x.d_density_raw + i, count);
        for (int64_t c = 0; c < 3; ++c) store_first(hn::Zero(d), d, x.d_rgb + c * samples + i, count);
      }
    }
  }
}
