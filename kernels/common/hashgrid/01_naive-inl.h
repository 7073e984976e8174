// The part of hashtable_fwd.cpu.01_naive that 02_levels and hashtable_narrow_fwd.cpu.01_naive take over as it is.

float blended(int64_t blend, float f) {
  if (blend == table_blend::nearest) return 0;
  return blend == table_blend::linear ? f : f * f * (3 - 2 * f);
}

/// Adds the features of point i on a level to `sum`; number(k) is the table's k-th.
template <class Number>
void encode_point(const HashtableShape& s, const TableLevel& level, const float* positions, int64_t i,
                  const Number& number, float* sum) {
  const int corners = s.blend == table_blend::nearest ? 1 : 8;
  uint32_t cell[3] = {};
  float fraction[3] = {};
  for (int d = 0; d < 3; ++d) {
    const float p = positions[d * s.n + i] * level.scale + 0.5F;
    cell[d] = uint32_t(p);
    fraction[d] = blended(s.blend, p - float(cell[d]));
  }
  for (int c = 0; c < corners; ++c) {
    uint32_t corner[3] = {};
    float weight = 1;
    for (int d = 0; d < 3; ++d) {
      const bool upper = (c >> d & 1) != 0;
      corner[d] = cell[d] + (upper ? 1U : 0U);
      weight *= upper ? fraction[d] : 1 - fraction[d];
    }
    const int64_t index = level.offset + table_index(level, s.hash, corner[0], corner[1], corner[2]);
    for (int64_t f = 0; f < s.features; ++f) sum[f] += weight * number(index * s.features + f);
  }
}
