// The part of voxel_march.cuda.01_thread_per_ray that 02_skip_words takes over as it is.

__global__ void __launch_bounds__(kThreads) count_pieces(Scene scene, int* __restrict__ counts) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r < scene.rays) counts[r] = march(scene, r, [](int, float, float) {});
}

__global__ void __launch_bounds__(kThreads) write_pieces(Scene scene, const int32_t* __restrict__ ray_begin,
                                                         float* __restrict__ t, float* __restrict__ delta) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= scene.rays || ray_begin[r] == ray_begin[r + 1]) return;
  const int64_t begin = ray_begin[r];
  march(scene, r, [&](int i, float from, float to) {
    const float length = to - from;
    t[begin + i] = from + 0.5F * length;
    delta[begin + i] = length;
  });
}

void run(const VoxelMarch::Args<float>& x) {
  const int64_t rays = x.shape.rays;
  const Scene scene{rays, int(x.shape.grid), x.origins, x.directions, x.box, x.occupancy};
  const auto blocks = unsigned((rays + kThreads - 1) / kThreads);
  cuda::Scratch counts(size_t(rays + 1) * sizeof(int));
  if (rays > 0) cuda::launch(count_pieces, dim3(blocks), dim3(kThreads), 0, scene, counts.as<int>());
  cuda::launch(sum_counts, dim3(1), dim3(1), 0, rays, x.shape.capacity, counts.as<int>(), x.ray_begin);
  if (rays > 0) cuda::launch(write_pieces, dim3(blocks), dim3(kThreads), 0, scene, x.ray_begin, x.t, x.delta);
}
