// The camera's ray of a pixel, cells of a grid in Morton order: what the shaders of all fields with rays share.
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;

uniform vec3 eye, right, above, back;  // the camera, in grid space
uniform vec2 size;                     // of the picture, in pixels
uniform float focal;                   // in pixels
out vec4 color;

vec3 ray_direction() {
  vec2 at = vec2(gl_FragCoord.x, size.y - gl_FragCoord.y) - 0.5 * size;
  return normalize(at.x / focal * right - at.y / focal * above - back);
}

vec3 away_from_zero(vec3 d) {
  vec3 tiny = mix(vec3(-1e-9), vec3(1e-9), greaterThanEqual(d, vec3(0)));
  return mix(d, tiny, lessThan(abs(d), vec3(1e-9)));
}

uint spread(uint v) {
  v = (v | v << 16) & 0x030000FFu;
  v = (v | v << 8) & 0x0300F00Fu;
  v = (v | v << 4) & 0x030C30C3u;
  return (v | v << 2) & 0x09249249u;
}
uint morton(uvec3 c) { return spread(c.x) | spread(c.y) << 1 | spread(c.z) << 2; }

// Occupancy bits: level 0 is the trained grid, a bit of level m covers 2^m cells along each axis.
uniform usampler2D cells;
uniform int cell_begin[MIPS + 1];

bool is_filled(int level, int cascade, uvec3 cell) {
  uint bit = morton(cell >> uint(level));
  int byte_at = cell_begin[level] + cascade * (GRID * GRID * GRID / 8 >> 3 * level) + int(bit >> 3);
  uint eight = texelFetch(cells, ivec2(byte_at & CELLS_WIDTH - 1, byte_at / CELLS_WIDTH), 0).x;
  return (eight >> (bit & 7u) & 1u) != 0u;
}

// Returns the coarsest level on which a cell is empty, -1 if it is filled.
int empty_level(int cascade, uvec3 cell) {
  for (int level = MIPS; level >= 0; --level)
    if (!is_filled(level, cascade, cell)) return level;
  return -1;
}
