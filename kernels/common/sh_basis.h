// The real spherical harmonics up to degree 3 for one direction, and the gradient of a weighted sum of them.
//
// The order and signs are those of reference/sh_fwd and of splatting files. Written for any number type, host and device.
#pragma once

#if defined(__CUDACC__) || defined(KLAB_SIMT)
#define KLAB_BOTH_SIDES __host__ __device__ __forceinline__
#else
#define KLAB_BOTH_SIDES inline
#endif

namespace klab {
namespace {

/// basis[0 .. (degree+1)^2).
KLAB_BOTH_SIDES void sh_basis(int degree, float x, float y, float z, float* basis) {
  basis[0] = 0.28209479177387814F;
  if (degree < 1) return;
  basis[1] = -0.48860251190291992F * y;
  basis[2] = 0.48860251190291992F * z;
  basis[3] = -0.48860251190291992F * x;
  if (degree < 2) return;
  const float xx = x * x, yy = y * y, zz = z * z;
  basis[4] = 1.0925484305920792F * x * y;
  basis[5] = -1.0925484305920792F * y * z;
  basis[6] = 0.31539156525252005F * (2 * zz - xx - yy);
  basis[7] = -1.0925484305920792F * x * z;
  basis[8] = 0.54627421529603959F * (xx - yy);
  if (degree < 3) return;
  basis[9] = -0.59004358992664352F * y * (3 * xx - yy);
  basis[10] = 2.8906114426405538F * x * y * z;
  basis[11] = -0.45704579946446577F * y * (4 * zz - xx - yy);
  basis[12] = 0.37317633259011546F * z * (2 * zz - 3 * xx - 3 * yy);
  basis[13] = -0.45704579946446577F * x * (4 * zz - xx - yy);
  basis[14] = 1.4453057213202769F * z * (xx - yy);
  basis[15] = -0.59004358992664352F * x * (xx - 3 * yy);
}

/// Computes the gradient of sum_k weight[k]·basis[k] with respect to the direction, of the polynomials
/// without normalization.
KLAB_BOTH_SIDES void sh_gradient(int degree, float x, float y, float z, const float* weight, float* d) {
  d[0] = d[1] = d[2] = 0;
  if (degree < 1) return;
  d[0] = -0.48860251190291992F * weight[3];
  d[1] = -0.48860251190291992F * weight[1];
  d[2] = 0.48860251190291992F * weight[2];
  if (degree < 2) return;
  const float xx = x * x, yy = y * y, zz = z * z;
  d[0] += 1.0925484305920792F * (y * weight[4] - z * weight[7] + x * weight[8]) -
          0.63078313050504009F * x * weight[6];
  d[1] += 1.0925484305920792F * (x * weight[4] - z * weight[5] - y * weight[8]) -
          0.63078313050504009F * y * weight[6];
  d[2] += -1.0925484305920792F * (y * weight[5] + x * weight[7]) + 1.2615662610100802F * z * weight[6];
  if (degree < 3) return;
  d[0] += -3.5402615395598613F * x * y * weight[9] + 2.8906114426405538F * y * z * weight[10] +
          0.91409159892893155F * x * y * weight[11] - 2.2390579955406928F * x * z * weight[12] -
          0.45704579946446577F * (4 * zz - 3 * xx - yy) * weight[13] +
          2.8906114426405538F * x * z * weight[14] - 1.7701307697799306F * (xx - yy) * weight[15];
  d[1] += -1.7701307697799306F * (xx - yy) * weight[9] + 2.8906114426405538F * x * z * weight[10] -
          0.45704579946446577F * (4 * zz - xx - 3 * yy) * weight[11] -
          2.2390579955406928F * y * z * weight[12] + 0.91409159892893155F * x * y * weight[13] -
          2.8906114426405538F * y * z * weight[14] + 3.5402615395598613F * x * y * weight[15];
  d[2] += 2.8906114426405538F * x * y * weight[10] -
          3.6563663957157262F * z * (y * weight[11] + x * weight[13]) +
          0.37317633259011546F * (6 * zz - 3 * xx - 3 * yy) * weight[12] +
          1.4453057213202769F * (xx - yy) * weight[14];
}

}  // namespace
}  // namespace klab
