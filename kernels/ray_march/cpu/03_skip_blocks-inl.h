// The part of ray_march.cpu.03_skip_blocks that 04_threads takes over as it is.

using March = RayMarch;

struct Ray {
  float o[3], d[3];
};

struct Cell {
  bool occupied;
  float exit;  // a distance at which the ray is still surely inside the cell, or has just entered it
};

// Edge of the largest aligned block around an empty cell that is known to be empty: 1, 4 or 8 cells.
uint32_t empty_edge(const uint8_t* bits, uint32_t index, int64_t grid) {
  uint64_t words[8];
  if (grid < 4) return 1;
  std::memcpy(words, bits + index / 64 * 8, 8);
  if (words[0] != 0) return 1;
  if (grid < 8) return 4;
  std::memcpy(words, bits + index / 512 * 64, 64);
  for (int i = 1; i < 8; ++i) words[0] |= words[i];
  return words[0] == 0 ? 8 : 4;
}

Cell look_up(const March::Args<float>& x, const Ray& ray, const float inverse[3], float t) {
  float c[3];
  for (int axis = 0; axis < 3; ++axis) c[axis] = ray.o[axis] + t * ray.d[axis] - 0.5F;
  const float away = std::max({std::abs(c[0]), std::abs(c[1]), std::abs(c[2])});
  const int k = March::cascade_of(away, x.shape.cascades);
  uint32_t cell[3];
  for (int axis = 0; axis < 3; ++axis) cell[axis] = uint32_t(March::cell_of(c[axis], k, x.shape.grid));
  const uint32_t index = March::morton(cell[0], cell[1], cell[2]);
  const int64_t bytes = x.shape.grid * x.shape.grid * x.shape.grid / 8;
  const uint8_t* bits = x.occupancy + k * bytes;
  if ((bits[index / 8] >> (index % 8)) & 1) return {true, t};
  const uint32_t edge =
      empty_edge(bits, index, x.shape.grid);  // cells along an edge of the block known to be empty
  for (uint32_t& corner : cell) corner &= ~(edge - 1);
  const float size = float(1 << k) / float(x.shape.grid);
  float exit = INFINITY;
  for (int axis = 0; axis < 3; ++axis) {
    const float side = ray.d[axis] > 0 ? float(edge) : 0.0F;
    const float border = (float(cell[axis]) + side) * size - 0.5F * float(1 << k);  // from the center
    const float from_center = ray.o[axis] - 0.5F;
    // Positions and border carry a few roundings of numbers of this size; divided by d they are distances.
    const float margin = 1e-6F *
                         (1.0F + std::abs(ray.o[axis]) + std::abs(border) + std::abs(t * ray.d[axis])) *
                         std::abs(inverse[axis]);
    exit = std::min(exit, (border - from_center) * inverse[axis] - margin);
  }
  // A larger cascade's cell reaches into the smaller cascade's cube, where other bits decide: stop at that
  // cube.
  if (k > 0) {
    const float half = 0.25F * float(1 << k);
    for (int axis = 0; axis < 3; ++axis) {
      const float near_side = ray.d[axis] > 0 ? -half : half;
      const float margin =
          1e-6F * (1.0F + std::abs(ray.o[axis]) + half + std::abs(t * ray.d[axis])) * std::abs(inverse[axis]);
      const float at = (near_side - (ray.o[axis] - 0.5F)) * inverse[axis];
      if (at + margin > t) exit = std::min(exit, at - margin);  // not surely behind: stop in front of it
    }
  }
  return {false, exit};
}

// Samples of one ray, at most `room` of them, into t; returns how many there would be.
int64_t march(const March::Args<float>& x, const Ray& ray, float jitter, float* t_out) {
  const March::Shape& s = x.shape;
  const March::Span span =
      March::box_span(ray.o, ray.d, x.steps[0], x.steps[4], float(1 << (s.cascades - 1)));
  if (!(span.enter < span.leave)) return 0;
  const float first = span.enter + jitter * March::step_at(span.enter, x.steps);
  float inverse[3];
  for (int axis = 0; axis < 3; ++axis) inverse[axis] = 1.0F / March::direction_or_tiny(ray.d[axis]);
  float t = first;
  int64_t count = 0;
  for (int64_t k = 0; t < span.leave && count < s.max_samples;) {
    const Cell cell = look_up(x, ray, inverse, t);
    if (cell.occupied) t_out[count++] = t;
    if (x.steps[3] == 0) {
      // The last candidate not beyond the exit; at least the next one.
      const float jump = (cell.exit - first) / x.steps[1] - 1.0F;
      k = std::max(k + 1, int64_t(std::min(jump, 1e6F)));
      t = first + float(k) * x.steps[1];
    } else {
      do {
        t += March::step_at(t, x.steps);
      } while (t < cell.exit && t < span.leave);
    }
  }
  return count;
}
