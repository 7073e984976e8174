// Voxels along a ray: the pieces of the ray between planes of the grid, and values interpolated between vertices.
uniform usampler2D vertices;  // 32 vertices: which of them have a row, and how many rows lie before
uniform sampler2D density, coefficients;

float number_of_ones(uint v) {
  v -= v >> 1 & 0x55555555u;
  v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
  return float(((v + (v >> 4) & 0x0F0F0F0Fu) * 0x01010101u) >> 24);
}

// Returns the row of a vertex, -1 if it has none.
int row_of(ivec3 v) {
  int at = v.x + (GRID + 1) * (v.y + (GRID + 1) * v.z), word = at >> 5;
  uvec2 some = texelFetch(vertices, ivec2(word & VERTICES_WIDTH - 1, word / VERTICES_WIDTH), 0).xy;
  uint bit = uint(at & 31);
  if ((some.x >> bit & 1u) == 0u) return -1;
  return int(some.y) + int(number_of_ones(some.x & (1u << bit) - 1u));
}

// Planes and places of a grid whose cells grow outwards: as reference/graded_grid.h has them. SHELLS below 2: even cells.
#if SHELLS >= 2
float slope_of(int shell) { return float(1 << (shell < SHELLS ? 2 * shell : 2 * shell - 1)); }
float plane_at(int k) {
  int m = abs(2 * k - GRID);
  float y = float(m) / float(GRID);
  if (2 * m > GRID) {
    int rest = GRID - m, j = 1;
    while (j < SHELLS && (rest << (j + 1)) <= GRID) ++j;
    y = 0.25 * float(1 << j) + (0.5 / float(1 << j) - 0.5 * float(rest) / float(GRID)) * slope_of(j);
  }
  return 2 * k < GRID ? -y : y;
}
float place_of(float y) {
  float away = abs(y), s = 0.5 * away;
  if (away > 0.5) {
    int j = 1;
    while (j < SHELLS && away > 0.5 * float(1 << j)) ++j;
    s = 0.5 - 0.5 / float(1 << j) + (away - 0.25 * float(1 << j)) / slope_of(j);
  }
  return clamp(0.5 + (y < 0.0 ? -s : s), 0.0, 1.0);
}
#else
float plane_at(int k) { return SIDE * (float(k) / float(GRID) - 0.5); }
float place_of(float y) { return clamp(0.5 + y / SIDE, 0.0, 1.0); }
#endif
vec3 planes_at(ivec3 k) { return vec3(plane_at(k.x), plane_at(k.y), plane_at(k.z)); }
vec3 places_of(vec3 y) { return vec3(place_of(y.x), place_of(y.y), place_of(y.z)); }

// Returns color and log-density of a point, given from the middle of the box.
vec4 shade(vec3 from_middle, vec4 y[HARMONICS]) {
  vec3 at = places_of(from_middle) * float(GRID);
  ivec3 cell = min(ivec3(at), ivec3(GRID - 1));
  vec3 f = at - vec3(cell), sum = vec3(0);
  float raw = 0.0;
  for (int c = 0; c < 8; ++c) {
    ivec3 corner = ivec3(c, c >> 1, c >> 2) & 1;
    vec3 w = mix(1.0 - f, f, vec3(corner));
    float weight = w.x * w.y * w.z;
    int row = row_of(cell + corner);
    if (row < 0) {
      raw += weight * EMPTY;
      continue;
    }
    raw += weight * texelFetch(density, ivec2(row & DENSITY_WIDTH - 1, row / DENSITY_WIDTH), 0).x;
    for (int b = 0; b < BASIS; ++b) {
      int i = row * BASIS + b;
      sum += weight * y[b >> 2][b & 3] * texelFetch(coefficients, ivec2(i & COEFFICIENTS_WIDTH - 1, i / COEFFICIENTS_WIDTH), 0).xyz;
    }
  }
  return vec4(1.0 / (1.0 + exp(-sum)), raw);
}

void main() {
  vec3 d = ray_direction(), v = away_from_zero(d), inverse = 1.0 / v, u = eye - 0.5;
  vec3 a = (planes_at(ivec3(0)) - u) * inverse, b = (planes_at(ivec3(GRID)) - u) * inverse;
  vec3 near = min(a, b), far = max(a, b);
  float enter = max(max(near.x, near.y), max(near.z, NEAR)), leave = min(min(far.x, far.y), min(far.z, FAR));
  vec3 sum = vec3(0);
  float through = 1.0;
  if (enter < leave) {
    vec4 y[HARMONICS];
    harmonics(d, y);
    ivec3 cell = clamp(ivec3(floor(places_of(u + enter * v) * float(GRID))), ivec3(0), ivec3(GRID - 1));
    ivec3 forward = ivec3(greaterThan(v, vec3(0)));  // as `inverse` has it: no component of v is 0
    float from = enter;
    // Crosses a cell, or a block of them where all are empty, through the nearest plane ahead.
    for (int crossed = 0; crossed < 3 * GRID && from < leave && through >= EARLY_STOP; ++crossed) {
      int level = empty_level(0, uvec3(cell)), block = 1 << max(level, 0);
      ivec3 low = cell & ~(block - 1);
      vec3 next = (planes_at(low + block * forward) - u) * inverse;
      int axis = next.x <= next.y && next.x <= next.z ? 0 : next.y <= next.z ? 1 : 2;
      float to = max(from, min(next[axis], leave));
      if (level < 0 && to > from) {
        vec4 here = shade(u + 0.5 * (from + to) * d, y);
        float kept = exp(-exp(min(here.w, 60.0)) * (to - from));
        sum += through * (1.0 - kept) * here.xyz;
        through *= kept;
      }
      from = to;
      // The other axes have not left the block.
      if (block > 1) cell = clamp(ivec3(floor(places_of(u + from * v) * float(GRID))), low, low + block - 1);
      cell[axis] = forward[axis] == 1 ? low[axis] + block : low[axis] - 1;
      if (cell[axis] < 0 || cell[axis] >= GRID) break;
    }
  }
  color = vec4(sum + through * BACKGROUND, 1.0);
}
