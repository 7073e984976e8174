// The camera's ray of a pixel, cells of a grid in Morton order, harmonics of a direction: what the shaders of all fields share.
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

// Spherical harmonics of a direction in the order of reference/sh_fwd/sh_fwd.h. Those beyond the field's meet weights of 0.
void harmonics(vec3 d, out vec4 y[HARMONICS]) {
  float x2 = d.x * d.x, y2 = d.y * d.y, z2 = d.z * d.z;
  y[0] = vec4(0.28209479177387814, -0.4886025119029199 * d.y, 0.4886025119029199 * d.z, -0.4886025119029199 * d.x);
#if HARMONICS > 1
  y[1] = vec4(1.0925484305920792 * d.x * d.y, -1.0925484305920792 * d.y * d.z,
              0.31539156525252005 * (3.0 * z2 - 1.0), -1.0925484305920792 * d.x * d.z);
#endif
#if HARMONICS > 2
  y[2] = vec4(0.5462742152960396 * (x2 - y2), 0.5900435899266435 * d.y * (y2 - 3.0 * x2),
              2.890611442640554 * d.x * d.y * d.z, 0.4570457994644658 * d.y * (1.0 - 5.0 * z2));
#endif
#if HARMONICS > 3
  y[3] = vec4(0.3731763325901154 * d.z * (5.0 * z2 - 3.0), 0.4570457994644658 * d.x * (1.0 - 5.0 * z2),
              1.445305721320277 * d.z * (x2 - y2), 0.5900435899266435 * d.x * (3.0 * y2 - x2));
#endif
}
