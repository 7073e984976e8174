// The part of hashgrid_fwd.cpu.03_simd_gather that the vectorized rungs of hashgrid_fwd, hashtable_fwd and hashtable_narrow_fwd take over as it is.

/// Interpolates corner values v[2^kDim] along x, then y, then z; the result is v[0].
template <int kDim>
HWY_INLINE void interpolate(HashgridF* v, const HashgridF* fraction) {
  const HashgridF32 d;
  for (int axis = 0, count = 1 << kDim; axis < kDim; ++axis) {
    const auto rest = hn::Sub(hn::Set(d, 1.0F), fraction[axis]);
    count /= 2;
    for (int k = 0; k < count; ++k) v[k] = hn::MulAdd(fraction[axis], v[2 * k + 1], hn::Mul(rest, v[2 * k]));
  }
}
