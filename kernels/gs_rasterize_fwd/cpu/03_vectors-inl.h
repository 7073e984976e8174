// The part of gs_rasterize_fwd.cpu.03_vectors that 04_threads takes over as it is.

constexpr int64_t kTile = GsRasterizeFwd::tile;

struct alignas(64) Tile {
  float T[kTile * kTile], red[kTile * kTile], green[kTile * kTile], blue[kTile * kTile];
  uint32_t open = 0;  // a bit for each row in which a pixel has not ended
};

void add(const GsRecord& g, float left, float top, int64_t height, Tile& tile) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const GsReach down = gs_reach(g.y - top, g.half_height, height);
  const GsReach across = gs_reach(g.x - left, g.half_width, kTile);
  if (across.begin >= across.end) return;
  const auto falls = hn::Set(d, -0.5F * g.xx), opacity = hn::Set(d, g.opacity);
  const auto most = hn::Set(d, 0.99F), least = hn::Set(d, 1.0F / 255), stop = hn::Set(d, 1e-4F);
  for (int64_t row = down.begin; row < down.end; ++row) {
    if (!(tile.open >> row & 1)) continue;
    const float dy = g.y - (top + float(row) + 0.5F);
    const auto slope = hn::Set(d, -g.xy * dy), offset = hn::Set(d, -0.5F * g.yy * dy * dy);
    bool ended = false;
    for (int64_t column = across.begin / lanes * lanes; column < across.end; column += lanes) {
      const int64_t pixel = row * kTile + column;
      const auto dx = hn::Sub(hn::Set(d, g.x - (left + float(column) + 0.5F)), hn::Iota(d, 0.0F));
      const auto e = hn::MulAdd(hn::MulAdd(falls, dx, slope), dx, offset);
      const auto alpha = hn::Min(most, hn::Mul(opacity, exp_saturated(d, e)));
      const auto T = hn::Load(d, tile.T + pixel);
      const auto shows = hn::And(hn::Ge(alpha, least), hn::Gt(T, hn::Zero(d)));
      if (hn::AllFalse(d, shows)) continue;
      const auto behind = hn::NegMulAdd(T, alpha, T);
      const auto stops = hn::And(shows, hn::Lt(behind, stop));
      const auto takes = hn::AndNot(stops, shows);
      const auto weight = hn::IfThenElseZero(takes, hn::Mul(T, alpha));
      hn::Store(hn::MulAdd(weight, hn::Set(d, g.red), hn::Load(d, tile.red + pixel)), d, tile.red + pixel);
      hn::Store(hn::MulAdd(weight, hn::Set(d, g.green), hn::Load(d, tile.green + pixel)), d,
                tile.green + pixel);
      hn::Store(hn::MulAdd(weight, hn::Set(d, g.blue), hn::Load(d, tile.blue + pixel)), d, tile.blue + pixel);
      hn::Store(hn::IfThenElse(stops, hn::Neg(T), hn::IfThenElse(takes, behind, T)), d, tile.T + pixel);
      ended = ended || !hn::AllFalse(d, stops);
    }
    if (!ended) continue;
    const float* T = tile.T + row * kTile;
    if (std::all_of(T, T + kTile, [](float v) { return v < 0; })) tile.open &= ~(1U << row);
  }
}

void draw(const GsRasterizeFwd::Args<float>& x, const GsRecord* records, int64_t t) {
  const GsRasterizeFwd::Shape& s = x.shape;
  const int64_t left = t % s.columns() * kTile, top = t / s.columns() * kTile, plane = s.width * s.height;
  const int64_t width = std::min(kTile, s.width - left), height = std::min(kTile, s.height - top);
  Tile tile{};
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < kTile; ++column)
      tile.T[row * kTile + column] = column < width ? 1.0F : -1.0F;
  tile.open = (1U << height) - 1;
  for (int64_t k = x.tile_begin[t]; k < x.tile_begin[t + 1] && tile.open != 0; ++k)
    add(records[x.id[k]], float(left), float(top), height, tile);
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const int64_t from = row * kTile + column, to = (top + row) * s.width + left + column;
      const float T = std::abs(tile.T[from]);
      x.image[to] = tile.red[from] + T * x.background[0];
      x.image[plane + to] = tile.green[from] + T * x.background[1];
      x.image[2 * plane + to] = tile.blue[from] + T * x.background[2];
      x.transmittance[to] = T;
    }
}
