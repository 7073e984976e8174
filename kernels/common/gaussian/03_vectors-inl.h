// The part of gs_rasterize_bwd.cpu.03_vectors that 04_threads and both rungs of gs_rasterize_abs_bwd take over as it is. A contract with
// `pull` gets the sums of absolute values, too: two products and two sums more.

constexpr int64_t kTile = GsRasterizeFwd::tile;

struct alignas(64) Tile {
  float T[kTile * kTile], behind[kTile * kTile], h[3][kTile * kTile];
  uint32_t open = 0;  // a bit for each row in which a pixel has not ended
};

/// Adds a tile's pixels to the gradients of one Gaussian.
template <bool kPulls>
void add(const GsRecord& g, float left, float top, int64_t height, Tile& tile, GsGradient& out) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const GsReach down = gs_reach(g.y - top, g.half_height, height);
  const GsReach across = gs_reach(g.x - left, g.half_width, kTile);
  if (across.begin >= across.end) return;
  const auto falls = hn::Set(d, -0.5F * g.xx), opacity = hn::Set(d, g.opacity), one = hn::Set(d, 1.0F);
  const auto most = hn::Set(d, 0.99F), least = hn::Set(d, 1.0F / 255), stop = hn::Set(d, 1e-4F);
  auto s = hn::Zero(d), s_x = s, s_y = s, s_xx = s, s_xy = s, s_yy = s, red = s, green = s, blue = s;
  auto pull_x = s, pull_y = s;
  for (int64_t row = down.begin; row < down.end; ++row) {
    if (!(tile.open >> row & 1)) continue;
    const float dy = g.y - (top + float(row) + 0.5F);
    const auto slope = hn::Set(d, -g.xy * dy), offset = hn::Set(d, -0.5F * g.yy * dy * dy);
    bool ended = false;
    for (int64_t column = across.begin / lanes * lanes; column < across.end; column += lanes) {
      const int64_t pixel = row * kTile + column;
      const auto dx = hn::Sub(hn::Set(d, g.x - (left + float(column) + 0.5F)), hn::Iota(d, 0.0F));
      const auto e = hn::MulAdd(hn::MulAdd(falls, dx, slope), dx, offset);
      const auto free = hn::Mul(opacity, exp_saturated(d, e)), alpha = hn::Min(most, free);
      const auto T = hn::Load(d, tile.T + pixel);
      const auto shows = hn::And(hn::Ge(alpha, least), hn::Gt(T, hn::Zero(d)));
      if (hn::AllFalse(d, shows)) continue;
      const auto through = hn::NegMulAdd(T, alpha, T);
      const auto stops = hn::And(shows, hn::Lt(through, stop));
      const auto takes = hn::AndNot(stops, shows);
      hn::Store(hn::IfThenElse(stops, hn::Neg(T), hn::IfThenElse(takes, through, T)), d, tile.T + pixel);
      ended = ended || !hn::AllFalse(d, stops);
      const auto h0 = hn::Load(d, tile.h[0] + pixel), h1 = hn::Load(d, tile.h[1] + pixel),
                 h2 = hn::Load(d, tile.h[2] + pixel);
      const auto shade = hn::MulAdd(hn::Set(d, g.red), h0,
                                    hn::MulAdd(hn::Set(d, g.green), h1, hn::Mul(hn::Set(d, g.blue), h2)));
      const auto weight = hn::IfThenElseZero(takes, hn::Mul(T, alpha));
      const auto behind = hn::NegMulAdd(weight, shade, hn::Load(d, tile.behind + pixel));
      hn::Store(behind, d, tile.behind + pixel);
      red = hn::MulAdd(weight, h0, red), green = hn::MulAdd(weight, h1, green),
      blue = hn::MulAdd(weight, h2, blue);
      const auto d_alpha = hn::Sub(hn::Mul(T, shade), hn::Div(behind, hn::Sub(one, alpha)));
      const auto moves = hn::And(takes, hn::Le(free, most));
      const auto d_e = hn::IfThenElseZero(moves, hn::Mul(alpha, d_alpha));
      const auto by_x = hn::Mul(dx, d_e), by_y = hn::Mul(hn::Set(d, dy), d_e);
      s = hn::Add(s, d_e), s_x = hn::Add(s_x, by_x), s_y = hn::Add(s_y, by_y);
      s_xx = hn::MulAdd(by_x, dx, s_xx), s_xy = hn::MulAdd(by_x, hn::Set(d, dy), s_xy);
      s_yy = hn::MulAdd(by_y, hn::Set(d, dy), s_yy);
      if constexpr (kPulls) {
        const auto xx = hn::Set(d, g.xx), xy = hn::Set(d, g.xy), yy = hn::Set(d, g.yy);
        pull_x = hn::Add(pull_x, hn::Abs(hn::MulAdd(xx, by_x, hn::Mul(xy, by_y))));
        pull_y = hn::Add(pull_y, hn::Abs(hn::MulAdd(yy, by_y, hn::Mul(xy, by_x))));
      }
    }
    if (!ended) continue;
    const float* T = tile.T + row * kTile;
    if (std::all_of(T, T + kTile, [](float v) { return v <= 0; })) tile.open &= ~(1U << row);
  }
  float low[4], high[4];
  four_sums(d, s, s_x, s_y, s_xx, low);
  four_sums(d, s_xy, s_yy, red, green, high);
  out.opacity += low[0] / g.opacity;
  out.x -= g.xx * low[1] + g.xy * low[2];
  out.y -= g.yy * low[2] + g.xy * low[1];
  out.xx -= 0.5F * low[3], out.xy -= high[0], out.yy -= 0.5F * high[1];
  out.color[0] += high[2], out.color[1] += high[3];
  if constexpr (kPulls) {
    float last[4];
    four_sums(d, blue, pull_x, pull_y, hn::Zero(d), last);
    out.color[2] += last[0], out.pull[0] += last[1], out.pull[1] += last[2];
  } else {
    out.color[2] += hn::GetLane(hn::SumOfLanes(d, blue));
  }
}

template <class Args>
void walk(const Args& x, const GsRecord* records, int64_t t, GsGradient* out) {
  const GsRasterizeFwd::Shape& s = x.shape;
  const int64_t left = t % s.columns() * kTile, top = t / s.columns() * kTile, plane = s.width * s.height;
  const int64_t width = std::min(kTile, s.width - left), height = std::min(kTile, s.height - top);
  constexpr bool kPulls = requires { x.pull; };
  Tile tile{};
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const int64_t to = row * kTile + column, from = (top + row) * s.width + left + column;
      tile.T[to] = 1;
      for (int c = 0; c < 3; ++c) {
        tile.h[c][to] = x.d_image[c * plane + from];
        tile.behind[to] += x.image[c * plane + from] * tile.h[c][to];
      }
    }
  tile.open = (1U << height) - 1;
  for (int64_t k = x.tile_begin[t]; k < x.tile_begin[t + 1] && tile.open != 0; ++k)
    add<kPulls>(records[x.id[k]], float(left), float(top), height, tile, out[x.id[k]]);
}
