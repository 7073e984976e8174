// The part of occupancy_choose.cuda.01_three_passes that 02_look_back takes over as it is.

/// Which of a thread's four cells are chosen, as bits.
__device__ __forceinline__ unsigned chosen_of(const OccupancyChoose::Args<float>& x,
                                              OccupancyChoose::Thresholds limits, int64_t c) {
  if (c >= x.shape.cells) return 0;
  const uint64_t block = uint64_t(x.shape.first + c) / 4;
  PhiloxWords words{};
  if (!x.shape.all) words = philox(block + (uint64_t{3} << 48), x.seed, x.step);
  const unsigned bits = x.bits[c / 8] >> (c % 8);
  unsigned chosen = 0;
  for (int k = 0; k < 4; ++k) {
    const bool occupied = (bits >> k & 1) != 0 && (words.w[k] & 0xFFFF) < limits.occupied;
    if (x.values[c + k] >= 0 && (x.shape.all || (words.w[k] >> 16) < limits.any || occupied))
      chosen |= 1U << k;
  }
  return chosen;
}

__device__ __forceinline__ OccupancyChoose::Thresholds limits_of(const OccupancyChoose::Args<float>& x) {
  const int occupied = *x.occupied;
  const double share = double(*x.share),
               want = share * double(x.shape.grid_cells) / double(occupied > 0 ? occupied : 1);
  return {uint32_t(share * 65536), uint32_t((want < 1 ? want : 1) * 65536)};
}
