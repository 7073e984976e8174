// The part of baked_rays.cpu.04_packets that 05_threads takes over as it is.

using Lanes = hn::CappedTag<float, 16>;
constexpr int64_t kPacket = 16;  // rays

/// What the rays of a packet have collected, and the sums of their present samples.
struct Packet {
  HWY_ALIGN float sums[4][kPacket] = {}, t[kPacket] = {}, color[3][kPacket] = {}, depth[kPacket] = {},
                  left[kPacket];
};

/// Adds a sample to each ray of a packet. A ray without one has a density of 0.
HWY_INLINE void add_samples(Packet& p, float step) {
  const Lanes d;
  const auto one = hn::Set(d, 1.0F);
  for (int64_t i = 0; i < kPacket; i += int64_t(hn::Lanes(d))) {
    const auto tau = hn::Mul(exp_saturated(d, hn::Load(d, p.sums[0] + i)), hn::Set(d, step));
    const auto through = exp_minus(d, tau), left = hn::Load(d, p.left + i);
    const auto weight = hn::Mul(left, hn::Sub(one, through));
    for (int c = 0; c < 3; ++c) {
      const auto behind = hn::Add(one, exp_saturated(d, hn::Neg(hn::Load(d, p.sums[1 + c] + i))));
      hn::Store(hn::Add(hn::Load(d, p.color[c] + i), hn::Div(weight, behind)), d, p.color[c] + i);
    }
    hn::Store(hn::MulAdd(weight, hn::Load(d, p.t + i), hn::Load(d, p.depth + i)), d, p.depth + i);
    hn::Store(hn::Mul(left, through), d, p.left + i);
  }
}

/// Computes up to kPacket rays from `first` on.
template <int kBasis>
void packet_of(const BakedRays::Args<float>& x, int64_t first) {
  const int64_t count = std::min(kPacket, x.shape.rays - first);
  HWY_ALIGN float counts[kPacket][4 * kBasis];
  Packet packet;
  std::fill_n(packet.left, kPacket, 1.0F);
  Beam beams[kPacket];
  Search searches[kPacket];
  Corners corners[kPacket];
  int64_t k[kPacket] = {}, active[kPacket], still = 0;
  for (int64_t i = 0; i < count; ++i) {
    beams[i] = beam_of(x, first + i);
    searches[i] = Search(x, beams[i].path);
    weigh_numbers<kBasis>(x, beams[i], counts[i]);
    active[still++] = i;
  }
  while (still > 0) {
    int64_t kept = 0;
    std::fill_n(packet.sums[0], kPacket, -87.0F);
    for (int64_t a = 0; a < still; ++a) {
      const int64_t i = active[a];
      BakedRays::Place at;
      if (packet.left[i] < x.settings[3] || !searches[i].next(beams[i].path, k[i], at)) continue;
      active[kept++] = i;
      corners[i] = corners_of<kBasis>(x, at);
      for (const int8_t* row : corners[i].row) __builtin_prefetch(row);
      packet.t[i] = beams[i].path.t(k[i]++);
    }
    for (int64_t a = 0; a < kept; ++a) {
      float sums[4];
      sum_rows<kBasis>(corners[active[a]], counts[active[a]], sums);
      for (int g = 0; g < 4; ++g) packet.sums[g][active[a]] = sums[g];
    }
    still = kept;
    if (still > 0) add_samples(packet, x.settings[2]);
  }
  for (int64_t i = 0; i < count; ++i)
    write_ray(
        x, first + i,
        {{packet.color[0][i], packet.color[1][i], packet.color[2][i]}, packet.depth[i], packet.left[i]});
}

/// Rays from `begin` to `end`; packets begin there.
void some_rays(const BakedRays::Args<float>& x, int64_t begin, int64_t end) {
  for (int64_t first = begin; first < end; first += kPacket)
    x.shape.basis == 4 ? packet_of<4>(x, first) : packet_of<1>(x, first);
}
