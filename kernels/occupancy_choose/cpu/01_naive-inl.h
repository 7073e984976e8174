// The part of occupancy_choose.cpu.01_naive that 02_threads takes over as it is.

bool wanted(const OccupancyChoose::Args<float>& x, const OccupancyChoose::Thresholds& limits, uint32_t w,
            int64_t c) {
  if (!(x.values[c] >= 0)) return false;
  if (x.shape.all || (w >> 16) < limits.any) return true;
  return (x.bits[c / 8] >> (c % 8) & 1) != 0 && (w & 0xFFFF) < limits.occupied;
}

/// Chosen cells of [begin, end), multiples of four, written from `out` on; how many.
int64_t choose(const OccupancyChoose::Args<float>& x, int64_t begin, int64_t end, int32_t* out) {
  const auto limits = OccupancyChoose::thresholds(*x.share, x.shape.grid_cells, *x.occupied);
  int64_t n = 0;
  for (int64_t c = begin; c < end; c += 4) {
    const uint64_t block = uint64_t(x.shape.first + c) / 4;
    const PhiloxWords words =
        x.shape.all ? PhiloxWords{} : philox(block + (uint64_t{3} << 48), x.seed, x.step);
    for (int64_t k = 0; k < 4; ++k)
      if (wanted(x, limits, words.w[k], c + k)) out[n++] = int32_t(c + k);
  }
  return n;
}
