// The part of cell_distance.cpu.01_naive that its later rungs take over as it is.

/// Writes 0 for occupied cells and the most that a byte holds for the others.
void mark_cells(const Distance::Args<float>& x) {
  const int64_t grid = x.shape.grid;
  for (int64_t z = 0; z < grid; ++z)
    for (int64_t y = 0; y < grid; ++y)
      for (int64_t c = 0; c < grid; ++c) {
        const uint32_t bit = Distance::morton(uint32_t(c), uint32_t(y), uint32_t(z));
        const bool occupied = (x.occupancy[bit / 8] >> (bit % 8) & 1) != 0;
        x.distance[(z * grid + y) * grid + c] = uint8_t(occupied ? 0 : Distance::most);
      }
}
