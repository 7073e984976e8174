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
