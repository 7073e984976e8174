// The part of voxel_march.cpu.03_skip_far that 04_threads takes over as it is.

using March = VoxelMarch;

struct Piece {
  float from, to;
};

bool occupied(const uint8_t* bits, uint32_t index) { return bits[index / 8] >> (index % 8) & 1; }

bool empty_word(const uint8_t* bits, uint32_t index) {
  uint64_t word;
  std::memcpy(&word, bits + index / 64 * 8, 8);
  return word == 0;
}

// Leaves the aligned block of `edge` cells around the present cell; returns the axis along which, and where in `next`.
int leave_block(March::Line& l, int32_t edge, float& next) {
  int32_t last[3];  // of the block's cells, along the ray
  for (int axis = 0; axis < 3; ++axis)
    last[axis] = l.step[axis] > 0 ? l.cell[axis] | (edge - 1) : l.cell[axis] & ~(edge - 1);
  const float far[3] = {l.exit(0, last[0]), l.exit(1, last[1]), l.exit(2, last[2])};
  int axis = far[1] < far[0] ? 1 : 0;
  if (far[2] < far[axis]) axis = 2;
  next = far[axis];
  for (int other = 0; other < 3; ++other) {
    const int32_t low = std::min(l.cell[other], last[other]), high = std::max(l.cell[other], last[other]);
    // Planes are crossed in order of distance, equal ones in order of axes.
    const auto passed = [&](int32_t cell) {
      const float at = l.exit(other, cell);
      return at < next || (at == next && other < axis);
    };
    // Conversion rounds towards zero, which differs from rounding down only outside the block.
    const float place = std::clamp(l.place(other, next), float(low), float(high));
    auto cell = int32_t(place);
    while (cell != l.cell[other] && !passed(cell - l.step[other])) cell -= l.step[other];
    while (cell != last[other] && passed(cell)) cell += l.step[other];
    l.cell[other] = other == axis ? last[other] : cell;
  }
  return axis;
}
