// The part of voxel_march.cpu.03_skip_far that 04_threads takes over as it is.

// Pieces of one ray in occupied cells; returns how many.
int64_t march(const March::Args<float>& x, const std::vector<uint8_t>& far, int64_t r, Piece* out) {
  const int64_t rays = x.shape.rays, grid = x.shape.grid;
  const float o[3] = {x.origins[r], x.origins[rays + r], x.origins[2 * rays + r]};
  const float d[3] = {x.directions[r], x.directions[rays + r], x.directions[2 * rays + r]};
  March::Line l = March::line(o, d, x.box, grid);
  int64_t count = 0;
  for (float from = l.enter; from < l.leave;) {
    const uint32_t index = March::morton(uint32_t(l.cell[0]), uint32_t(l.cell[1]), uint32_t(l.cell[2]));
    const bool sixteen = !far.empty() && far[index / 4096] == 0;
    float next;
    int axis;
    if (sixteen || (grid >= 4 && empty_word(x.occupancy, index))) {
      axis = leave_block(l, sixteen ? 16 : 4, next);
      from = std::max(from, std::min(next, l.leave));
    } else {
      const float exits[3] = {l.exit(0, l.cell[0]), l.exit(1, l.cell[1]), l.exit(2, l.cell[2])};
      axis = exits[1] < exits[0] ? 1 : 0;
      if (exits[2] < exits[axis]) axis = 2;
      next = exits[axis];
      const float to = std::min(next, l.leave);
      if (to > from) {
        if (occupied(x.occupancy, index)) out[count++] = {from, to};
        from = to;
      }
    }
    l.cell[axis] += l.step[axis];
    if (l.cell[axis] < 0 || l.cell[axis] >= grid) break;
  }
  return count;
}
