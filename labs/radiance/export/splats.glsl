// Gaussians on the picture: each is projected as reference/gs_project_fwd has it, and colored as reference/gs_color_fwd.
precision highp float;
precision highp int;
precision highp sampler2D;

uniform sampler2D places, shapes, turns, coefficients;  // shapes: logarithms of three sizes, then the raw opacity
uniform vec3 eye, right, above, back;                   // the camera, in grid space
uniform vec2 size;                                      // of the picture, in pixels
uniform float focal;                                    // in pixels
layout(location = 0) in uint gaussian;
flat out vec3 conic;  // of the inverse covariance: xx, xy, yy
flat out vec4 paint;  // color and opacity
out vec2 away;        // from the mean, in pixels

ivec2 texel(int i, int width) { return ivec2(i & width - 1, i / width); }

mat3 rotation(vec4 q) {  // w first
  q /= length(q);
  float w = q.x, x = q.y, y = q.z, z = q.w;
  return mat3(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y),
              2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x),
              2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y));
}

vec3 color_of(int i, vec3 direction) {
  vec4 y[HARMONICS];
  harmonics(direction, y);
  vec3 sum = vec3(0.5);
  for (int k = 0; k < BASIS; ++k)
    sum += y[k >> 2][k & 3] * texelFetch(coefficients, texel(BASIS * i + k, COEFFICIENTS_WIDTH), 0).xyz;
  return max(sum, 0.0);
}

void main() {
  int i = int(gaussian);
  vec3 from_eye = texelFetch(places, texel(i, PLACES_WIDTH), 0).xyz - eye;
  vec4 shape = texelFetch(shapes, texel(i, SHAPES_WIDTH), 0);
  vec3 c = vec3(dot(right, from_eye), -dot(above, from_eye), -dot(back, from_eye));  // right, down, forward
  float opacity = 1.0 / (1.0 + exp(-shape.w));
  gl_Position = vec4(2.0, 2.0, 0.0, 1.0);  // out of the picture
  conic = vec3(0), paint = vec4(0), away = vec2(0);
  if (c.z <= NEAREST || 255.0 * opacity < 1.0) return;
  mat3 m = rotation(texelFetch(turns, texel(i, TURNS_WIDTH), 0));
  m[0] *= exp(shape.x), m[1] *= exp(shape.y), m[2] *= exp(shape.z);
  vec2 edge = 0.65 * size / focal, at = clamp(c.xy / c.z, -edge, edge);
  vec3 forward = -(back * m), a = focal / c.z * (right * m - at.x * forward), b = focal / c.z * (-(above * m) - at.y * forward);
  float p = dot(a, a) + 0.3, q = dot(a, b), r = dot(b, b) + 0.3;
  if (ANTIALIASED) opacity *= sqrt(max((dot(a, a) * dot(b, b) - q * q) / (p * r - q * q), 2.5e-5));  // gs_antialias_fwd
  if (255.0 * opacity < 1.0) return;
  conic = vec3(r, -q, p) / (p * r - q * q);
  paint = vec4(color_of(i, normalize(from_eye)), opacity);
  away = (vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0) * sqrt(2.0 * log(255.0 * opacity) * vec2(p, r));
  vec2 pixel = focal * c.xy / c.z + 0.5 * size + away;
  gl_Position = vec4(2.0 * pixel.x / size.x - 1.0, 1.0 - 2.0 * pixel.y / size.y, 0.0, 1.0);
}
