// The part of hashgrid_fwd.cpu.01_naive that 02_level_major, hashgrid_bwd.cpu.01_serial and hashgrid_bwd.cpu.02_level_parallel take over as it is.

int64_t entry_of(const HashgridLevel& level, int64_t dim, const uint32_t* corner) {
  if (!level.dense) {
    uint32_t hash = 0;
    for (int64_t d = 0; d < dim; ++d) hash ^= corner[d] * kHashgridPrimes[d];
    return int64_t(hash & level.mask);
  }
  int64_t index = 0;
  for (int64_t d = dim; d-- > 0;) index = index * level.resolution + corner[d];
  return index < level.entries ? index : index - level.entries;  // at most one lap beyond the far border
}
