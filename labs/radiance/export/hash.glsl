// The hash field along a ray: occupancy bits, hash table, two networks, and the volume-rendering sum of the trainer.
uniform sampler2D table;
uniform float scales[LEVELS];    // a point in [0,1] lies at x*scale + 1/2 in a level's grid
uniform uvec4 numbers[LEVELS];   // points along an axis, entries before the level, entries, bits of an index (0: dense)

// The word of a grid point and the fold into a level: as reference/hashtable_fwd/table_layout.h has them.
uint word_of(uvec3 c, uint bits) {
#if HASH == 0
  return c.x ^ c.y * 2654435761u ^ c.z * 805459861u;
#elif HASH == 1
  return morton(c);
#elif HASH == 2
  c = c * 1664525u + 1013904223u;
  c.x += c.y * c.z;
  c.y += c.z * c.x;
  c.z += c.x * c.y;
  c ^= c >> 16;
  return c.x + c.y * c.z;
#else
  uvec3 of = (uvec3(bits) + uvec3(2, 1, 0)) / 3u;
  uvec3 low = c & ((uvec3(1) << of) - 1u);
  return low.x | low.y << of.x | low.z << (of.x + of.y);
#endif
}

uint entry_of(uvec4 level, uvec3 c) {
  uint index, bits = level.w;
  if (bits == 0u) {
    index = c.x + level.x * (c.y + level.x * c.z);
    if (index >= level.z) index -= level.z;
  } else {
    index = word_of(c, bits) & (1u << bits) - 1u;
    if (index >= level.z) index -= 1u << (bits - 1u);
  }
  return level.y + index;
}

vec4 texel(uint index) {
  return texelFetch(table, ivec2(int(index) & TABLE_WIDTH - 1, int(index) / TABLE_WIDTH), 0);
}

#if FEATURES == 8
#define PARTS 2
#else
#define PARTS 1
#endif

// Adds up a level's features at a point: up to four, or the four that begin at 4*part.
vec4 features_of(int l, vec3 at, int part) {
  uvec4 level = numbers[l];
  vec3 p = at * scales[l] + 0.5, whole = floor(p), f = p - whole;
  uvec3 low = uvec3(whole);
#if BLEND == 1
  return texel(entry_of(level, low) * uint(PARTS) + uint(part));
#else
#if BLEND == 2
  f = f * f * (3.0 - 2.0 * f);
#endif
  vec4 sum = vec4(0);
  for (uint c = 0u; c < 8u; ++c) {
    uvec3 corner = uvec3(c, c >> 1, c >> 2) & 1u;
    vec3 w = mix(1.0 - f, f, vec3(corner));
    sum += w.x * w.y * w.z * texel(entry_of(level, low + corner) * uint(PARTS) + uint(part));
  }
  return sum;
#endif
}

void encode(vec3 at, out vec4 x[ENCODED]) {
  for (int i = 0; i < ENCODED; ++i) {
#if FEATURES == 8
    x[i] = features_of(i >> 1, at, i & 1);
#elif FEATURES == 4
    x[i] = features_of(i, at, 0);
#elif FEATURES == 2
    int l = 2 * i;
    x[i] = vec4(features_of(l, at, 0).xy, l + 1 < LEVELS ? features_of(l + 1, at, 0).xy : vec2(0));
#else
    for (int k = 0; k < 4; ++k) x[i][k] = 4 * i + k < LEVELS ? features_of(4 * i + k, at, 0).x : 0.0;
#endif
  }
}

// Returns color and log-density of a point.
vec4 shade(vec3 p, vec4 y[HARMONICS]) {
  vec4 x[ENCODED], geometry[GEOMETRY], both[HARMONICS + GEOMETRY], rgb[1];
  encode(clamp(0.5 + (p - 0.5) / SIDE, 0.0, 1.0), x);
  density_network(x, geometry);
  for (int i = 0; i < HARMONICS; ++i) both[i] = y[i];
  for (int i = 0; i < GEOMETRY; ++i) both[HARMONICS + i] = geometry[i];
  color_network(both, rgb);
  return vec4(1.0 / (1.0 + exp(-rgb[0].xyz)), geometry[0].x);
}

float step_at(float t) { return min(max(t * CONE, STEP_LEAST), STEP_MOST); }

void main() {
  vec3 d = ray_direction(), v = away_from_zero(d), inverse = 1.0 / v;
  vec3 a = (0.5 - 0.5 * SIDE - eye) * inverse, b = (0.5 + 0.5 * SIDE - eye) * inverse;
  vec3 near = min(a, b), far = max(a, b);
  float enter = max(max(near.x, near.y), max(near.z, NEAR)), leave = min(min(far.x, far.y), min(far.z, FAR));
  vec3 sum = vec3(0);
  float through = 1.0;
  if (enter < leave) {
    vec4 y[HARMONICS];
    harmonics(d, y);
    float first = enter + 0.5 * step_at(enter), t = first, k = 0.0;
    int taken = 0;
    while (t < leave && taken < MAX_SAMPLES && through >= EARLY_STOP) {
      vec3 p = eye + t * d, c = p - 0.5;
      float away = max(max(abs(c.x), abs(c.y)), abs(c.z)), width = 1.0;
      int cascade = 0;
      for (; cascade + 1 < CASCADES && away >= 0.5 * width; ++cascade) width *= 2.0;
      uvec3 cell = uvec3(clamp(floor((c / width + 0.5) * float(GRID)), 0.0, float(GRID - 1)));
      int level = empty_level(cascade, cell);
      float until = t;  // nothing lies before it
      if (level < 0) {
        vec4 sample_here = shade(p, y);
        float kept = exp(-exp(min(sample_here.w, 60.0)) * step_at(t));
        sum += through * (1.0 - kept) * sample_here.xyz;
        through *= kept;
        ++taken;
      } else {
        vec3 low = vec3(cell >> uint(level) << uint(level)) + float(1 << level) * vec3(greaterThan(v, vec3(0)));
        vec3 wall = ((low / float(GRID) - 0.5) * width + 0.5 - eye) * inverse;
        until = min(wall.x, min(wall.y, wall.z));
      }
      // The trainer's steps: a lattice where they have one length, else each from the one before.
      if (CONE == 0.0) {
        k += max(1.0, floor((until - t) / STEP_LEAST));
        t = first + k * STEP_LEAST;
      } else {
        do t += step_at(t);
        while (t < until && t < leave);
      }
    }
  }
  color = vec4(sum + through * BACKGROUND, 1.0);
}
