// The part of ray_march.cuda.01_thread_per_ray that 02_coarse_bits, voxel_march.cuda.01_thread_per_ray and 02_skip_words take over as it is.

/// One thread. ray_begin becomes the sum of the counts before each ray, as far as rays fit whole.
__global__ void sum_counts(int64_t rays, int64_t capacity, const int* __restrict__ counts,
                           int32_t* __restrict__ ray_begin) {
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < rays; ++r) {
    ray_begin[r] = int32_t(total);
    full = full || total + counts[r] > capacity;
    if (!full) total += counts[r];
  }
  ray_begin[rays] = int32_t(total);
}
