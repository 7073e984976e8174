// The part of occupancy_bits.cpu.01_naive that 02_threads takes over as it is.

/// Sum and number of the values of [begin, end) that count.
struct Seen {
  int64_t sum = 0, cells = 0;
};

Seen sum_of(const float* values, float scale, int64_t begin, int64_t end) {
  Seen seen;
  for (int64_t c = begin; c < end; ++c) {
    const bool counts = values[c] >= 0;
    seen.sum += counts ? OccupancyBits::fixed(values[c], scale) : 0;
    seen.cells += counts;
  }
  return seen;
}

/// Bytes [begin, end) of the field; how many bits are set.
int64_t set_bits(const OccupancyBits::Args<float>& x, float limit, int64_t begin, int64_t end) {
  int64_t set = 0;
  for (int64_t b = begin; b < end; ++b) {
    unsigned byte = 0;
    for (int64_t bit = 0; bit < 8; ++bit) byte |= unsigned(x.values[b * 8 + bit] > limit) << bit;
    x.bits[b] = uint8_t(byte);
    set += __builtin_popcount(byte);
  }
  return set;
}
