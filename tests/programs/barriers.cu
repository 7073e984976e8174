// Barriers and pipelines of a block, and copies that they wait for: the forms that CUDA's programming guide shows, each against plain
// code on the host.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <numeric>
#include <utility>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;

/// A sum over a block by halves, one phase a step; arrivals and waits apart from each other.
__global__ void sum_by_halves(const int* in, int* out) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier all;
  __shared__ int s[256];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&all, block.size());
  block.sync();
  const int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    barrier::arrival_token token = all.arrive();
    const int other = t < half ? t + half : t;  // in between: nothing that others touch
    all.wait(std::move(token));
    if (t < half) s[t] += s[other];
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

/// Threads leave one after the other; the rest keep meeting.
__global__ void leave_in_turn(int* rounds) {
  __shared__ barrier staying;
  if (threadIdx.x == 0) init(&staying, blockDim.x);
  __syncthreads();
  for (unsigned round = 0; round < threadIdx.x % 8; ++round) staying.arrive_and_wait();
  rounds[threadIdx.x] = threadIdx.x % 8;
  staying.arrive_and_drop();
}

/// Half of the block fills one of two buffers while the other half adds up the other one.
__global__ void fill_and_use(const float* in, float* out, int pieces) {
  constexpr int kPiece = 64;
  __shared__ float buffer[2][kPiece];
  __shared__ barrier ready[2], filled[2];
  if (threadIdx.x < 4) init((threadIdx.x < 2 ? ready : filled) + threadIdx.x % 2, blockDim.x);
  __syncthreads();
  const unsigned half = blockDim.x / 2;
  if (threadIdx.x < half) {
    for (int i = 0; i < pieces; ++i) {
      ready[i % 2].arrive_and_wait();
      for (unsigned k = threadIdx.x; k < kPiece; k += half) buffer[i % 2][k] = in[i * kPiece + k];
      (void)filled[i % 2].arrive();
    }
    return;
  }
  const unsigned me = threadIdx.x - half;
  (void)ready[0].arrive();
  (void)ready[1].arrive();
  float sum = 0;
  for (int i = 0; i < pieces; ++i) {
    filled[i % 2].arrive_and_wait();
    for (unsigned k = me; k < kPiece; k += half) sum += buffer[i % 2][k];
    (void)ready[i % 2].arrive();
  }
  atomicAdd(out, sum);
}

/// Copies whose end a barrier waits for, of the block and of single threads, of known and unknown alignment.
__global__ void copied(const int4* in, const char* text, int* out) {
  __shared__ alignas(16) int4 whole[32];
  __shared__ int each[128];
  __shared__ char letters[37];
  __shared__ barrier arrived;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&arrived, block.size());
  block.sync();
  cuda::memcpy_async(block, whole, in, cuda::aligned_size_t<16>(sizeof whole), arrived);
  cuda::memcpy_async(each + threadIdx.x, reinterpret_cast<const int*>(in) + threadIdx.x, sizeof(int),
                     arrived);
  cuda::memcpy_async(block, letters, text, sizeof letters, arrived);
  arrived.arrive_and_wait();
  const int t = threadIdx.x;
  out[t] = reinterpret_cast<const int*>(whole)[127 - t] + each[(t + 1) % 128] + letters[t % 37];
}

/// Phases that run something when they end.
struct Count {
  int* phases;
  __device__ void operator()() noexcept { ++*phases; }
};
__global__ void counted(int* out) {
  using Counted = cuda::barrier<cuda::thread_scope_block, Count>;
  __shared__ alignas(Counted) char place[sizeof(Counted)];
  __shared__ int phases;
  auto* all = reinterpret_cast<Counted*>(place);
  if (threadIdx.x == 0) {
    phases = 0;
    init(all, blockDim.x, Count{&phases});
  }
  __syncthreads();
  for (int k = 0; k < 3; ++k) all->arrive_and_wait();
  all->wait(all->arrive());
  if (threadIdx.x == 0) out[0] = phases;
}

/// Phases by their parity.
__global__ void by_parity(const int* x, int* y) {
  __shared__ barrier all;
  __shared__ int s[64];
  if (threadIdx.x == 0) init(&all, blockDim.x);
  __syncthreads();
  const int t = threadIdx.x;
  int sum = 0;
  for (int k = 0; k < 6; ++k) {
    if (k % 2 == 0) s[t] = x[t] + k;
    (void)all.arrive();
    all.wait_parity(k % 2 == 1);
    if (k % 2 == 0) sum += s[63 - t];
  }
  y[t] = sum;
}

/// y = 2 x + 1 over many pieces of a pipeline whose stages the whole block fills and uses.
template <int stages>
__global__ void staged(const int* x, int* y, int pieces) {
  extern __shared__ int s[];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int piece = block.size();
  for (int use = 0, fill = 0; use < pieces; ++use) {
    for (; fill < pieces && fill < use + stages; ++fill) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s + fill % stages * piece, x + fill * piece, sizeof(int) * piece, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    const int t = piece - 1 - threadIdx.x;  // copied by another thread
    y[use * piece + t] = 2 * s[use % stages * piece + t] + 1;
    pipe.consumer_release();
  }
}

/// The first warp fills, the others use.
__global__ void staged_by_roles(const int* x, int* y, int pieces, bool by_number) {
  constexpr int kStages = 2, kPiece = 96;
  __shared__ int s[kStages][kPiece];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  const bool fills = block.thread_rank() < 32;
  const auto role = fills ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  cuda::pipeline<cuda::thread_scope_block> pipe =
      by_number ? cuda::make_pipeline(block, &state, 32) : cuda::make_pipeline(block, &state, role);
  auto warp = cg::tiled_partition<32>(block);
  for (int i = 0; i < pieces; ++i) {
    if (fills) {
      pipe.producer_acquire();
      cuda::memcpy_async(warp, s[i % kStages], x + i * kPiece, sizeof s[0], pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      const int t = threadIdx.x - 32;
      y[i * kPiece + t] = 2 * s[i % kStages][t] + 1;
      pipe.consumer_release();
    }
  }
}

/// A thread's own pipeline, two commits ahead; then cooperative groups' copies, one batch ahead.
__global__ void ahead(const int* x, int* y, int pieces) {
  constexpr int kStages = 3;
  __shared__ int s[kStages][128];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline();
  const int t = threadIdx.x;
  for (int use = 0, fill = 0; use < pieces; ++use) {
    for (; fill < use + kStages; ++fill) {
      pipe.producer_acquire();
      if (fill < pieces) cuda::memcpy_async(&s[fill % kStages][t], x + fill * 128 + t, sizeof(int), pipe);
      pipe.producer_commit();
    }
    cuda::pipeline_consumer_wait_prior<kStages - 1>(pipe);
    y[use * 128 + t] = 2 * s[use % kStages][t] + 1;
    pipe.consumer_release();
  }
  block.sync();
  cg::memcpy_async(block, s[0], x, sizeof(int) * 128);
  for (int use = 0; use < pieces; ++use) {
    if (use + 1 < pieces) {
      cg::memcpy_async(block, s[(use + 1) % 2], 128, x + (use + 1) * 128, 128);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    y[use * 128 + 127 - t] += s[use % 2][127 - t];
    block.sync();
  }
}

template <class T>
T* on_device(const std::vector<T>& v) {
  T* p;
  CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
  CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
std::vector<T> taken(T* p, size_t n) {
  std::vector<T> v(n);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  cudaFree(p);
  return v;
}

void check_barriers() {
  std::vector<int> in(1024);
  std::iota(in.begin(), in.end(), 3);
  int *x = on_device(in), *sums = on_device(std::vector<int>(4));
  sum_by_halves<<<4, 256>>>(x, sums);
  const auto sum = taken(sums, 4);
  for (int b = 0; b < 4; ++b)
    require_near(sum[b], std::accumulate(in.begin() + 256 * b, in.begin() + 256 * (b + 1), 0), 0,
                 "a block's sum");
  int* rounds = on_device(std::vector<int>(96, -1));
  leave_in_turn<<<1, 96>>>(rounds);
  const auto left = taken(rounds, 96);
  for (int t = 0; t < 96; ++t) require_near(left[t], t % 8, 0, "the rounds of a thread that leaves");
  std::vector<float> f(64 * 5);
  for (size_t k = 0; k < f.size(); ++k) f[k] = float(k % 7);
  float *pieces = on_device(f), *total = on_device(std::vector<float>(1));
  fill_and_use<<<1, 128>>>(pieces, total, 5);
  require_near(taken(total, 1)[0], std::accumulate(f.begin(), f.end(), 0.0), 0,
               "what one half fills and the other uses");
  int* phases = on_device(std::vector<int>(1));
  counted<<<1, 64>>>(phases);
  require_near(taken(phases, 1)[0], 4, 0, "the number of phases that have ended");
  int* by = on_device(std::vector<int>(64));
  by_parity<<<1, 64>>>(x, by);
  const auto reversed = taken(by, 64);
  for (int t = 0; t < 64; ++t)
    require_near(reversed[t], 3 * in[63 - t] + 6, 0, "a sum over phases by parity");
  std::vector<char> letters(37);
  for (int k = 0; k < 37; ++k) letters[k] = char('a' + k % 26);
  char* text = on_device(letters);
  int* out = on_device(std::vector<int>(128));
  copied<<<1, 128>>>(reinterpret_cast<const int4*>(x), text, out);
  const auto got = taken(out, 128);
  for (int t = 0; t < 128; ++t)
    require_near(got[t], in[127 - t] + in[(t + 1) % 128] + letters[t % 37], 0,
                 "what a barrier's copies bring");
  cudaFree(x), cudaFree(pieces), cudaFree(text);
}

template <class F>
void check_pipeline(int n, int factor, int offset, const char* what, F launch) {
  std::vector<int> in(n);
  for (int k = 0; k < n; ++k) in[k] = k * 37 % 101;
  int *x = on_device(in), *y = on_device(std::vector<int>(n, -1));
  launch(x, y);
  const auto got = taken(y, n);
  for (int k = 0; k < n; ++k) require_near(got[k], factor * in[k] + offset, 0, what);
  cudaFree(x);
}

int main() {
  check_barriers();
  check_pipeline(10 * 128, 2, 1, "a pipeline of two stages",
                 [](int* x, int* y) { staged<2><<<1, 128, 2 * 128 * 4>>>(x, y, 10); });
  check_pipeline(11 * 64, 2, 1, "a pipeline of four stages",
                 [](int* x, int* y) { staged<4><<<1, 64, 4 * 64 * 4>>>(x, y, 11); });
  for (bool by_number : {false, true})
    check_pipeline(7 * 96, 2, 1, "a pipeline of two roles",
                   [&](int* x, int* y) { staged_by_roles<<<1, 128>>>(x, y, 7, by_number); });
  check_pipeline(6 * 128, 3, 1, "copies of one thread ahead",
                 [](int* x, int* y) { ahead<<<1, 128>>>(x, y, 6); });
  std::printf("barriers passed\n");
}
