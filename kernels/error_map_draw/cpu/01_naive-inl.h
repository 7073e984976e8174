// The part of error_map_draw.cpu.01_naive that 02_threads takes over as it is.

/// Draws the list of one view: places walk along the ends of its blocks.
void draw_list(const ErrorMapDraw::Args<float>& x, int64_t v) {
  const int64_t *place = x.places + ErrorMapDraw::kPlace * v, n = place[0], blocks = place[3],
                list = x.shape.list;
  const float* e = x.losses + place[2];
  double known = 0, sum = 0, all = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    if (e[b] < 0) continue;
    known += 1;
    sum += double(e[b]);
  }
  const auto mean = float(known > 0 ? sum / known : 1);
  const auto inside = [&](int64_t b) {
    return double(std::min(ErrorMapDraw::kBlock, n - b * ErrorMapDraw::kBlock));
  };
  const auto loss = [&](int64_t b) { return double(e[b] < 0 ? mean : e[b]); };
  for (int64_t b = 0; b < blocks; ++b) all += loss(b) * inside(b);
  const double share = double(*x.share), even = 1 / double(n);
  const auto probability = [&](int64_t b) {
    return all > 0 ? (1 - share) * even + share * loss(b) / all : even;
  };
  const auto random = [&](int64_t i) {
    return double(ErrorMapDraw::random_number(ErrorMapDraw::key_of(x.key),
                                              uint64_t(v) * uint64_t(list + 1) + uint64_t(i)));
  };
  int64_t b = 0;
  double end = probability(0) * inside(0);
  for (int64_t k = 0; k < list; ++k) {
    const double at = (random(0) + double(k)) / double(list);
    for (; b + 1 < blocks && at >= end; ++b) end += probability(b + 1) * inside(b + 1);
    const int64_t i = b * ErrorMapDraw::kBlock + int64_t(random(1 + k) * inside(b)), out = v * list + k;
    x.pixels[out] = place[1] >= 0 ? x.seen[place[1] + i] : int32_t(i);
    x.blocks[out] = int32_t(place[2] + b);
    x.weights[out] = float(1 / (double(n) * probability(b)));
  }
}
