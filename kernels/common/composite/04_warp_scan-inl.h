// The part of composite_fwd.cuda.04_warp_scan that 05_log_space, composite_loss_fwd.cuda.01_warp_per_ray, distortion_fwd.cuda.01_warp_per_ray and distortion_bwd.cuda.01_warp_per_ray take over as it is.

/// Sum over all lanes, in all lanes.
__device__ __forceinline__ float sum_of(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kWarp, value, step);
  return value;
}
