// The part of composite_loss_bwd.cpu.03_flat_exponentials that 04_threads takes over as it is.

void composite(const CompositeLossBwd::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const auto [rays, samples, kind] = x.shape;
  const float turn = CompositeLossFwd::turn(kind);
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
    for (int64_t r = first; r < last; ++r) {
      const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
      // 4. The ray's color; weights take the place of optical depths. Past the end of the ray they are 0, whatever the next
      // one holds.
      auto red = hn::Zero(d), green = hn::Zero(d), blue = hn::Zero(d), in_front = hn::Set(d, 1.0F);
      int64_t stop = begin;
      for (; stop < end && hn::GetLane(in_front) >= float(CompositeLossFwd::stop); stop += lanes) {
        const size_t count = size_t(std::min(lanes, end - stop));
        const auto after = hn::LoadU(d, behind.data() + (stop - from));
        const auto weight =
            hn::IfThenElseZero(hn::FirstN(d, count), hn::Sub(shift_in(d, after, in_front), after));
        red = hn::MulAdd(weight, load_first(d, x.rgb + stop, count), red);
        green = hn::MulAdd(weight, load_first(d, x.rgb + samples + stop, count), green);
        blue = hn::MulAdd(weight, load_first(d, x.rgb + 2 * samples + stop, count), blue);
        in_front = last_lane(d, after);
        hn::StoreU(weight, d, tau.data() + (stop - from));
      }
      stop = std::min(stop, end);
      // 5. Its loss, and the gradient of the color.
      const float left = stop > begin ? behind[size_t(stop - 1 - from)] : 1;
      float color[4], g[3], loss = 0, total = 0;
      four_sums(d, red, green, blue, hn::Zero(d), color);
      for (int64_t c = 0; c < 3; ++c) {
        const float whole = color[c] + left * x.background[c * rays + r];
        const float e = whole - x.target[c * rays + r], size = std::abs(e), s = std::min(size, turn);
        loss += kind == 0 ? e * e : s * (size - 0.5F * s);
        g[c] = x.d_loss[r] * (1.0F / 3) * (kind == 0 ? 2 * e : std::copysign(s, e));
        total += g[c] * whole;
      }
      x.loss[r] = loss * (1.0F / 3);
      // 6. Gradients of the samples, as in composite_bwd, but the total is known.
      const auto g0 = hn::Set(d, g[0]), g1 = hn::Set(d, g[1]), g2 = hn::Set(d, g[2]), all = hn::Set(d, total);
      auto prefix = hn::Zero(d);  // sum of weight times payload so far, in the last lane
      for (int64_t i = begin; i < stop; i += lanes) {
        const size_t count = size_t(std::min(lanes, stop - i));
        const auto weight = hn::LoadU(d, tau.data() + (i - from));
        auto p = hn::Mul(g0, load_first(d, x.rgb + i, count));
        p = hn::MulAdd(g1, load_first(d, x.rgb + samples + i, count), p);
        p = hn::MulAdd(g2, load_first(d, x.rgb + 2 * samples + i, count), p);
        prefix = hn::Add(last_lane(d, prefix), prefix_sum(d, hn::Mul(weight, p)));
        const auto from_here = hn::Sub(hn::MulAdd(hn::LoadU(d, behind.data() + (i - from)), p, prefix), all);
        store_first(hn::Mul(hn::LoadU(d, slope.data() + (i - from)), from_here), d, x.d_density_raw + i,
                    count);
        store_first(hn::Mul(weight, g0), d, x.d_rgb + i, count);
        store_first(hn::Mul(weight, g1), d, x.d_rgb + samples + i, count);
        store_first(hn::Mul(weight, g2), d, x.d_rgb + 2 * samples + i, count);
      }
      for (int64_t i = stop; i < end; i += lanes) {  // left out
        const size_t count = size_t(std::min(lanes, end - i));
        store_first(hn::Zero(d), d, x.d_density_raw + i, count);
        for (int64_t c = 0; c < 3; ++c) store_first(hn::Zero(d), d, x.d_rgb + c * samples + i, count);
      }
    }
  }
}
