// Cooperative groups: a grid that meets, tiles of static and run-time size, coalesced threads, and queries of
// a device.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void sum_of_grid(const float* x, double* partial, double* total, int n) {
  extern __shared__ double s[];
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  double mine = 0;
  for (int k = int(grid.thread_rank()); k < n; k += int(grid.size())) mine += x[k];
  s[block.thread_rank()] = mine;
  cg::sync(block);
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  double v = s[block.thread_rank()];
  for (int by = tile.size() / 2; by > 0; by >>= 1) v += tile.shfl_down(v, by);
  block.sync();
  if (tile.thread_rank() == 0) s[tile.meta_group_rank()] = v;
  block.sync();
  if (block.thread_rank() == 0) {
    double all = 0;
    for (unsigned w = 0; w < tile.meta_group_size(); ++w) all += s[w];
    partial[blockIdx.x] = all;
  }
  grid.sync();
  if (grid.thread_rank() == 0) {
    double all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
    *total = all;
  }
  grid.sync();
  if (block.thread_rank() == 0) partial[blockIdx.x] = *total;  // all blocks see it
}
__global__ void groups(int* out) {
  const auto four = cg::tiled_partition<4>(cg::this_thread_block());
  out[threadIdx.x] = cg::reduce(four, int(threadIdx.x), cg::plus<int>());
  const cg::thread_group eight = cg::tiled_partition(cg::this_thread_block(), 8);
  if (eight.thread_rank() == 7) out[64 + threadIdx.x / 8] = int(eight.size());
  if (threadIdx.x % 3 == 0) {
    const cg::coalesced_group some = cg::coalesced_threads();
    if (some.thread_rank() == 0) out[80 + threadIdx.x / 32] = int(some.size());
  }
}

int main() {
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  int cooperative = 0, per_sm = 0;
  CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
  const int threads = 64;
  CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, sum_of_grid, threads, threads * sizeof(double)));
  if (cooperative != 1 || per_sm < 1 || prop.multiProcessorCount < 1) return 2;
  int n = 3000, blocks = 6;
  std::vector<float> x(n);
  double wanted = 0;
  for (int k = 0; k < n; ++k) wanted += x[k] = float(k % 9);
  float* dx;
  double *partial, *total;
  CHECK(cudaMalloc(&dx, n * 4));
  CHECK(cudaMalloc(&partial, blocks * 8));
  CHECK(cudaMalloc(&total, 8));
  CHECK(cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice));
  void* args[] = {&dx, &partial, &total, &n};
  CHECK(cudaLaunchCooperativeKernel((void*)sum_of_grid, dim3(blocks), dim3(threads), args,
                                    threads * sizeof(double), 0));
  std::vector<double> back(blocks);
  CHECK(cudaMemcpy(back.data(), partial, blocks * 8, cudaMemcpyDeviceToHost));
  for (double v : back) require_near(v, wanted, 0, "the sum of the grid");
  if (cudaLaunchCooperativeKernel((void*)sum_of_grid, dim3(per_sm * prop.multiProcessorCount + 1),
                                  dim3(threads), args, threads * sizeof(double),
                                  0) != cudaErrorCooperativeLaunchTooLarge)
    return 2;
  cudaGetLastError();
  int* out;
  CHECK(cudaMallocManaged(&out, 96 * sizeof(int)));
  groups<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 64; ++k) require_near(out[k], 4 * (k / 4 * 4) + 6, 0, "the sum of a tile");
  for (int k = 0; k < 8; ++k) require_near(out[64 + k], 8, 0, "the size of a tile");
  require_near(out[80], 11, 0, "the number of coalesced threads");
  cudaFree(dx), cudaFree(partial), cudaFree(total), cudaFree(out);
  std::printf("grid_sync passed\n");
}
