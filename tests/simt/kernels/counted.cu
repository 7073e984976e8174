// Kernels whose counts are known: by hand, or from the hardware where the comment cites it. Each line that
// counts ends in "// COUNTS <count>=<number> ...", of all launches of the function run_<name>() that the
// kernel is followed by.
#include "kernels/common/cuda.h"
#include "kernels/common/cuda_red.h"

#define KLAB_RUN(name) extern "C" __attribute__((visibility("default"))) void run_##name()

namespace {

namespace cuda = klab::cuda;

// A loop in a loop whose length differs between lanes. They meet behind the inner loop: even lanes run it 1 and then 6
// times, odd lanes 6 and then 1, which takes 6 requests each time. Were the k-th loads of all lanes one request, it would be 7.
__global__ void nested(const float* x, const int* turns, float* y) {
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    const int n = turns[threadIdx.x + 32 * i];
    for (int j = 0; j < n; ++j) sum += x[j];  // COUNTS requests=12 lanes=224
  }
  y[threadIdx.x] = sum;  // COUNTS requests=1 lanes=32
}

}  // namespace

KLAB_RUN(nested) {
  const cuda::Scratch x(64 * 4), turns(64 * 4), y(32 * 4);
  int host[64];
  for (int i = 0; i < 64; ++i) host[i] = i % 2 == i / 32 ? 1 : 6;
  cuda::upload(turns.as<int>(), host, sizeof host);
  cuda::fill_zero(x.as<float>(), 64 * 4);
  cuda::launch(nested, 1, 32, 0, x.as<float>(), turns.as<int>(), y.as<float>());
}

namespace {

// Both ways of a branch and what comes behind it.
__global__ void branch(const float* x, float* y) {
  float v;
  if (threadIdx.x % 4 == 0)
    v = x[threadIdx.x] * 2;  // COUNTS requests=1 lanes=8
  else
    v = x[threadIdx.x + 32];  // COUNTS requests=1 lanes=24
  y[threadIdx.x] = v;         // COUNTS requests=1 lanes=32
}

// A search that lanes end after another number of turns, with a condition that loads: thread jumping would make two of it.
__global__ void search(const int* keys, const int* wanted, int* at, int n) {
  int low = 0, high = n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (keys[middle] < wanted[threadIdx.x])  // COUNTS requests=14 lanes=448
      low = middle + 1;
    else
      high = middle;
  }
  at[threadIdx.x] = low;  // COUNTS requests=1 lanes=32
}

// A loop with ways that leave its body early. In turn k the lanes with a nonzero x[4·lane + k] count: 8 a turn, side by
// side in turn 0 and 32 bytes apart in turn 1; none in turn 2.
__global__ void some_of_a_loop(const float* x, int* steps, float* y) {
  const int i = int(threadIdx.x) * 4;
  float v[4], sum[4] = {};
  for (int k = 0; k < 4; ++k) v[k] = x[i + k];
  for (int k = 0; k < 4; ++k) {
    bool live = false;
    for (int e = 0; e < 1; ++e) live = live || v[k + e] != 0;
    int step = 0;
    if (live && i >= 0)
      step = ++steps[k * 256 + i / 4 * (k == 1 ? 8 : 1)];  // COUNTS requests=6 lanes=80 sectors=24
    if (!live) continue;
    for (int e = 0; e < 1; ++e) sum[k + e] = expm1f(float(step));
  }
  if (sum[0] + sum[1] + sum[3] != 0)
    for (int k = 0; k < 4; ++k)
      if (sum[k] != 0) y[i + k] = sum[k];
}

// A function that is not inlined, called from two places: lanes of one call stay together.
__attribute__((noinline)) float called(const float* x, int i) {
  float sum = 0;
  for (int k = 0; k <= i % 4; ++k) sum += x[k];  // COUNTS requests=8 lanes=80
  return sum;
}
__global__ void calls(const float* x, float* y) {
  const int i = int(threadIdx.x);
  float v = i < 16 ? called(x, i) : called(x + 8, i) + x[40];
  y[i] = v;  // COUNTS requests=1 lanes=32
}

}  // namespace

KLAB_RUN(branch) {
  const cuda::Scratch x(64 * 4), y(32 * 4);
  cuda::fill_zero(x.as<float>(), 64 * 4);
  cuda::launch(branch, 1, 32, 0, x.as<float>(), y.as<float>());
}

KLAB_RUN(search) {
  const cuda::Scratch keys(127 * 4), wanted(32 * 4), at(32 * 4);
  int host[127], asked[32];
  for (int i = 0; i < 127; ++i) host[i] = i;
  for (int i = 0; i < 32; ++i) asked[i] = i * 4;
  cuda::upload(keys.as<int>(), host, sizeof host);
  cuda::upload(wanted.as<int>(), asked, sizeof asked);
  cuda::launch(search, 1, 32, 0, keys.as<int>(), wanted.as<int>(), at.as<int>(), 127);
}

KLAB_RUN(some_of_a_loop) {
  const cuda::Scratch x(128 * 4), steps(1024 * 4), y(128 * 4);
  float host[128] = {};
  for (int i = 0; i < 8; ++i) host[4 * i] = host[4 * (3 * i + 1) + 1] = 1;
  for (int i = 8; i < 32; ++i) host[4 * i + 3] = 1;
  cuda::upload(x.as<float>(), host, sizeof host);
  cuda::fill_zero(steps.as<int>(), 1024 * 4);
  cuda::launch(some_of_a_loop, 1, 32, 0, x.as<float>(), steps.as<int>(), y.as<float>());
}

KLAB_RUN(calls) {
  const cuda::Scratch x(64 * 4), y(32 * 4);
  cuda::fill_zero(x.as<float>(), 64 * 4);
  cuda::launch(calls, 1, 32, 0, x.as<float>(), y.as<float>());
}

namespace {

__device__ int counter;
__device__ float table[64];

// Variables of the device are global memory: watched, and counted.
__global__ void variables(float* y) {
  atomicAdd(&counter, int(threadIdx.x));  // COUNTS requests=1 lanes=1 sectors=1 collisions=0 merged=1
  table[threadIdx.x] = 1;                 // COUNTS requests=1 sectors=4
  __syncthreads();
  y[threadIdx.x] = table[31 - threadIdx.x];  // COUNTS requests=2 sectors=8
}

__constant__ float coefficients[32] = {1, 2, 3};

// Constant memory has its own cache, which serves one address of a warp in a pass.
__global__ void constants(float* y) {
  const float own =
      coefficients[threadIdx.x];  // COUNTS requests=1 lanes=32 sectors=0 wavefronts=32 conflicts=31
  const float same =
      coefficients[blockIdx.x];  // COUNTS requests=1 lanes=32 sectors=0 wavefronts=1 conflicts=0
  y[threadIdx.x] = own + same;   // COUNTS requests=1 lanes=32 sectors=4
}

// One address and an operand that the compiler knows: nvcc has one lane add 32.
__global__ void same_address(int* sum) {
  atomicAdd(sum, 1);  // COUNTS requests=1 lanes=1 collisions=0 merged=1
}
// Here it does not know that the addresses are one.
__global__ void histogram(const int* bin, int* count) {
  atomicAdd(&count[bin[threadIdx.x]], 1);  // COUNTS requests=2 lanes=64 collisions=16
}
// Floating-point sums depend on their order.
__global__ void float_sum(float* sum) {
  atomicAdd(sum, 1.0f);  // COUNTS requests=1 lanes=32 collisions=31
}

}  // namespace

KLAB_RUN(variables) {
  const cuda::Scratch y(32 * 4);
  cuda::launch(variables, 1, 32, 0, y.as<float>());
}
KLAB_RUN(constants) {
  const cuda::Scratch y(32 * 4);
  cuda::launch(constants, 1, 32, 0, y.as<float>());
}
KLAB_RUN(same_address) {
  const cuda::Scratch sum(4);
  cuda::fill_zero(sum.as<int>(), 4);
  cuda::launch(same_address, 1, 32, 0, sum.as<int>());
}
KLAB_RUN(histogram) {
  const cuda::Scratch bins(32 * 4), count(32 * 4);
  int host[32];
  for (int i = 0; i < 32; ++i) host[i] = i / 2;
  cuda::upload(bins.as<int>(), host, sizeof host);
  cuda::fill_zero(count.as<int>(), 32 * 4);
  cuda::launch(histogram, 1, 32, 0, bins.as<int>(), count.as<int>());
}
KLAB_RUN(float_sum) {
  const cuda::Scratch sum(4);
  cuda::fill_zero(sum.as<float>(), 4);
  cuda::launch(float_sum, 1, 32, 0, sum.as<float>());
}

namespace {

// Arrays of vectors and of halves in shared memory: no guard of their construction is accessed.
__global__ void shared_vectors(const float4* x, float4* y, __half* h) {
  __shared__ float4 four[32];
  __shared__ __half halves[32];
  four[threadIdx.x] = x[threadIdx.x];  // COUNTS requests=2 lanes=64 sectors=16 wavefronts=4
  halves[threadIdx.x] = __half(1.0f);  // COUNTS requests=1 wavefronts=1
  __syncthreads();
  y[threadIdx.x] = four[31 - threadIdx.x];    // COUNTS requests=2 sectors=16 wavefronts=4
  h[threadIdx.x] = halves[31 - threadIdx.x];  // COUNTS requests=2 sectors=2 wavefronts=1
}

// Wide loads of shared memory that lanes share. On hardware the groups of lanes that serve 8 and 16 bytes are merged where
// lanes n and n^1, or n and n^2, read the same.
__global__ void wide_broadcast(float* y) {
  __shared__ float2 two[64];
  __shared__ float4 four[64];
  const int i = int(threadIdx.x);
  two[i] = float2(1, 2);         // COUNTS wavefronts=2
  four[i] = float4(1, 2, 3, 4);  // COUNTS wavefronts=4
  __syncthreads();
  const float2 a = two[0];      // COUNTS wavefronts=1 conflicts=0
  const float2 b = two[i / 2];  // COUNTS wavefronts=1 conflicts=0
  const float2 c = two[i];      // COUNTS wavefronts=2 conflicts=0
  const float4 d = four[0];     // COUNTS wavefronts=2 conflicts=0
  const float4 e = four[i];     // COUNTS wavefronts=4 conflicts=0
  y[i] = a.x + b.x + c.x + d.x + e.x;
}

struct Three {
  float a, b, c;
};
struct Five {
  float a[5];
};
// Structures go in pieces of their alignment.
__global__ void structures(const Three* x, Three* y, const Five* p, Five* q) {
  y[threadIdx.x] = x[threadIdx.x];  // COUNTS requests=6 lanes=192 sectors=72
  q[threadIdx.x] = p[threadIdx.x];  // COUNTS requests=10 lanes=320 sectors=200
}

}  // namespace

KLAB_RUN(shared_vectors) {
  const cuda::Scratch x(32 * 16), y(32 * 16), h(32 * 2);
  cuda::fill_zero(x.as<float>(), 32 * 16);
  cuda::launch(shared_vectors, 1, 32, 0, x.as<float4>(), y.as<float4>(), h.as<__half>());
}
KLAB_RUN(wide_broadcast) {
  const cuda::Scratch y(32 * 4);
  cuda::launch(wide_broadcast, 1, 32, 0, y.as<float>());
}
KLAB_RUN(structures) {
  const cuda::Scratch x(32 * 12), y(32 * 12), p(32 * 20), q(32 * 20);
  cuda::fill_zero(x.as<float>(), 32 * 12);
  cuda::fill_zero(p.as<float>(), 32 * 20);
  cuda::launch(structures, 1, 32, 0, x.as<Three>(), y.as<Three>(), p.as<Five>(), q.as<Five>());
}

// A kernel with external linkage has shared memory like any other.
__global__ void external_kernel(float* y) {
  __shared__ float tile[256];
  tile[threadIdx.x] = 1;  // COUNTS requests=1
  __syncthreads();
  y[threadIdx.x] = tile[31 - threadIdx.x];  // COUNTS requests=2
}
KLAB_RUN(external_kernel) {
  const cuda::Scratch y(32 * 4);
  cuda::launch(external_kernel, 1, 32, 0, y.as<float>());
}

namespace {
// The sectors of the distinct bytes, and those of the active lanes if no two read the same.
__global__ void uniform_load(const float* x, float* y) {
  y[threadIdx.x] = x[0];  // COUNTS requests=2 sectors=5 ideal_sectors=5 lane_sectors=8
}
__global__ void ticks(long long* y) {
  y[0] = (long long)clock() + clock64();  // CUDA's clock() and the C library's have one name
}
}  // namespace
KLAB_RUN(uniform_load) {
  const cuda::Scratch x(4), y(32 * 4);
  cuda::fill_zero(x.as<float>(), 4);
  cuda::launch(uniform_load, 1, 32, 0, x.as<float>(), y.as<float>());
}
KLAB_RUN(ticks) {
  const cuda::Scratch y(8);
  if (clock() < 0) return;  // the C library's, here
  cuda::launch(ticks, 1, 1, 0, y.as<long long>());
}

namespace {
// Lanes that skip the rest of a turn are together again in the next one, and who leaves the loop is not waited for in it.
__global__ void skip_and_leave(const int* x, int* y) {
  int sum = 0;
  for (int k = 0; k < 64; ++k) {
    const int v = x[k];  // COUNTS requests=64 lanes=1224
    if ((v + int(threadIdx.x)) % 3 == 0) continue;
    if (k >= 8 + int(threadIdx.x)) break;
    sum += x[64 + k];  // COUNTS requests=39 lanes=499
  }
  y[threadIdx.x] = sum;  // COUNTS requests=1 lanes=32
}
// The same one loop further in: the inner loop is left by different lanes at different turns, each turn of the outer one begins together.
__global__ void leave_within(const int* x, int* y) {
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    const int first = x[i];  // COUNTS requests=4 lanes=128
    for (int k = 0; k < 16; ++k) {
      const int v = x[4 + k];  // COUNTS requests=44 lanes=1216
      if (v + k > int(threadIdx.x) / 8 + 6) break;
      if (k % 2 == int(threadIdx.x) % 2) continue;
      sum += x[32 + k];  // COUNTS requests=40 lanes=544
    }
    sum += first;
  }
  y[threadIdx.x] = sum;  // COUNTS requests=1 lanes=32
}
// A sector is sent once for as many lanes as have different words in it.
__global__ void atomics(float* y) {
  atomicAdd(y, 1.0F);                                         // COUNTS requests=1 sectors=32 collisions=31
  atomicAdd(y + threadIdx.x, 1.0F);                           // COUNTS requests=1 sectors=4 collisions=0
  atomicAdd(y + threadIdx.x / 2, 1.0F);                       // COUNTS requests=1 sectors=4 collisions=16
  atomicAdd(y + 8 * threadIdx.x, 1.0F);                       // COUNTS requests=1 sectors=32 collisions=0
  if (threadIdx.x < 3) atomicAdd(y + threadIdx.x / 2, 1.0F);  // COUNTS requests=1 sectors=2 collisions=1
}
// What returns nothing that is used is a reduction on a GPU: RED, not ATOM.
__device__ int ticket(int* p) { return atomicAdd(p, 1); }
__global__ void used_results(int* x, float* y, unsigned* z, float2* pair) {
  const unsigned t = threadIdx.x;
  atomicAdd(x + t, 1);                                        // COUNTS requests=1 returns=0
  const int unused = atomicAdd(x + t, 2);                     // COUNTS requests=1 returns=0
  const int old = atomicAdd(x + t, 3);                        // COUNTS requests=1 returns=1
  if (atomicMax(z + t, 7U) == 0) z[32 + t] = 1;               // COUNTS requests=2 lanes=64
  atomicOr(z + t, 8U);                                        // COUNTS requests=1 returns=0
  atomicExch(z + t, 9U);                                      // COUNTS requests=1 returns=1
  atomicCAS(z + t, 9U, 1U);                                   // COUNTS requests=1 returns=1
  atomicAdd(y + t, 1.0F);                                     // COUNTS requests=1 returns=0
  const float before = atomicAdd(y + t, 1.0F);                // COUNTS requests=1 returns=1
  atomicAdd(pair + t, make_float2(1, 2));                     // COUNTS requests=1 returns=0
  const float2 two = atomicAdd(pair + t, make_float2(1, 2));  // COUNTS requests=1 returns=1
  for (int k = 0; k < 2; ++k) atomicAdd(x + t, k);            // COUNTS requests=2 returns=0
  x[64 + t] = ticket(x + 32 + t) + old;
  y[32 + t] = before + two.y;
  (void)unused;
}
// Pairs and fours are one request each.
__global__ void wide_atomics(float* y) {
  auto* pairs = reinterpret_cast<float2*>(y);
  auto* fours = reinterpret_cast<float4*>(y);
  const unsigned t = threadIdx.x;
  const float2 two = make_float2(1, 2);
  const float4 four = make_float4(1, 2, 3, 4);
  cuda::add_to_global(pairs + t, two);       // COUNTS requests=1 lanes=32 sectors=8 collisions=0
  cuda::add_to_global(pairs + 4 * t, two);   // COUNTS requests=1 lanes=32 sectors=32 collisions=0
  cuda::add_to_global(pairs, two);           // COUNTS requests=1 lanes=32 collisions=31
  cuda::add_to_global(fours + t, four);      // COUNTS requests=1 lanes=32 sectors=16 collisions=0
  cuda::add_to_global(fours + 2 * t, four);  // COUNTS requests=1 lanes=32 sectors=32 collisions=0
}
}  // namespace
KLAB_RUN(skip_and_leave) {
  const cuda::Scratch x(128 * 4), y(32 * 4);
  cuda::fill_zero(x.as<int>(), 128 * 4);
  cuda::launch(skip_and_leave, 1, 32, 0, x.as<int>(), y.as<int>());
}
KLAB_RUN(leave_within) {
  const cuda::Scratch x(64 * 4), y(32 * 4);
  cuda::fill_zero(x.as<int>(), 64 * 4);
  cuda::launch(leave_within, 1, 32, 0, x.as<int>(), y.as<int>());
}
KLAB_RUN(wide_atomics) {
  const cuda::Scratch y(256 * 4);
  cuda::fill_zero(y.as<float>(), 256 * 4);
  cuda::launch(wide_atomics, 1, 32, 0, y.as<float>());
}
KLAB_RUN(used_results) {
  const cuda::Scratch x(96 * 4), y(64 * 4), z(64 * 4), pair(32 * 8);
  cuda::fill_zero(x.as<int>(), 96 * 4);
  cuda::fill_zero(y.as<float>(), 64 * 4);
  cuda::fill_zero(z.as<unsigned>(), 64 * 4);
  cuda::fill_zero(pair.as<float2>(), 32 * 8);
  cuda::launch(used_results, 1, 32, 0, x.as<int>(), y.as<float>(), z.as<unsigned>(), pair.as<float2>());
}
KLAB_RUN(atomics) {
  const cuda::Scratch y(256 * 4);
  cuda::fill_zero(y.as<float>(), 256 * 4);
  cuda::launch(atomics, 1, 32, 0, y.as<float>());
}

namespace {
// Sums of floats in global memory have no denormals, those in shared memory have.
__global__ void denormals(float* y) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, 1e-40F);  // COUNTS requests=1 lanes=32
  atomicAdd(y, 1e-40F);     // COUNTS requests=1 lanes=32
  __syncthreads();
  if (threadIdx.x == 0) y[1] = sum;
}
}  // namespace
KLAB_RUN(denormals) {
  const cuda::Scratch y(8);
  cuda::fill_zero(y.as<float>(), 8);
  cuda::launch(denormals, 1, 32, 0, y.as<float>());
  if (y.as<float>()[0] != 0 || !(y.as<float>()[1] > 3e-39F && y.as<float>()[1] < 3.3e-39F)) __builtin_trap();
}
