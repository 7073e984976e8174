// Inline PTX, matrices of all types and shapes, directed rounding, groups of lanes that share a label: each against plain code.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <vector>

#include "check.h"

using namespace nvcuda;
namespace cg = cooperative_groups;

__global__ void ptx(unsigned* out, const unsigned* in) {
  const unsigned t = threadIdx.x, a = in[t], b = in[t + 32];
  unsigned r, low, high;
  unsigned long long wide;
  float f;
  asm volatile("add.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  out[t] = r;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(a), "r"(b));
  out[32 + t] = unsigned(wide >> 32);
  asm("{\n\t.reg .pred p;\n\tsetp.lt.u32 p, %1, %2;\n\tselp.u32 %0, %1, %2, p;\n\t}"
      : "=r"(r)
      : "r"(a), "r"(b));
  out[64 + t] = r;
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(7u));
  out[96 + t] = r;
  asm("{ .reg .u32 sum; add.cc.u32 sum, %1, %2; addc.u32 %0, sum, 0; }" : "=r"(r) : "r"(a), "r"(b));
  out[128 + t] = r;
  asm("mov.u32 %0, %%laneid;" : "=r"(r));
  out[160 + t] = r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(3.0f));
  out[192 + t] = unsigned(f);
  asm("mov.b32 %0, %1;" : "=f"(f) : "r"(0x40400000));  // the bits of 3
  out[224 + t] = unsigned(f);
  asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(low), "=r"(high) : "l"(in + 2 * t));
  out[256 + t] = low + high;
  asm volatile("st.global.cg.u32 [%0+128], %1;" ::"l"(out + 256 + t), "r"(high) : "memory");
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in));
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(out + 320), "r"(1));
}
void check_ptx() {
  std::vector<unsigned> in(64), out(321);
  for (unsigned k = 0; k < 64; ++k) in[k] = k * 0x9E3779B9u;
  unsigned *from, *to;
  CHECK(cudaMalloc(&from, 256));
  CHECK(cudaMalloc(&to, out.size() * 4));
  CHECK(cudaMemset(to, 0, out.size() * 4));
  CHECK(cudaMemcpy(from, in.data(), 256, cudaMemcpyHostToDevice));
  ptx<<<1, 32>>>(to, from);
  CHECK(cudaMemcpy(out.data(), to, out.size() * 4, cudaMemcpyDeviceToHost));
  for (unsigned t = 0; t < 32; ++t) {
    const unsigned a = in[t], b = in[t + 32];
    const unsigned wanted[] = {a + b,
                               unsigned((unsigned long long)a * b >> 32),
                               a < b ? a : b,
                               a ^ b ^ 7u,
                               a + b + ((unsigned long long)a + b > 0xFFFFFFFFull ? 1u : 0u),
                               t,
                               8,
                               3,
                               in[2 * t] + in[2 * t + 1],
                               in[2 * t + 1]};
    for (unsigned k = 0; k < 10; ++k) require_near(out[32 * k + t], wanted[k], 0, "what inline PTX makes");
  }
  require_near(out[320], 32, 0, "a reduction by inline PTX");
  cudaFree(from), cudaFree(to);
}

/// 16 x 8 of a 16 x 16 and an 8 x 16, copied, loaded and multiplied as CUTLASS-like code does.
__global__ void tensor(float* d, const half* a, const half* b) {
  __shared__ __align__(16) half rows[16 * 16], columns[8 * 16];
  const int lane = threadIdx.x;
  const unsigned to = unsigned(__cvta_generic_to_shared(rows + lane * 8));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(a + lane * 8));
  if (lane < 16) __pipeline_memcpy_async(columns + lane * 8, b + lane * 8, 16);
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  __syncthreads();
  unsigned of_a[4], of_b[2];
  float c[4] = {};
  const unsigned at = unsigned(__cvta_generic_to_shared(rows + lane % 16 * 16 + lane / 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(of_a[0]), "=r"(of_a[1]), "=r"(of_a[2]), "=r"(of_a[3])
               : "r"(at));
  const unsigned bt = unsigned(__cvta_generic_to_shared(columns + lane % 8 * 16 + lane / 8 % 2 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(of_b[0]), "=r"(of_b[1])
               : "r"(bt));
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
      : "r"(of_a[0]), "r"(of_a[1]), "r"(of_a[2]), "r"(of_a[3]), "r"(of_b[0]), "r"(of_b[1]), "f"(c[0]),
        "f"(c[1]), "f"(c[2]), "f"(c[3]));
  for (int i = 0; i < 4; ++i) d[(lane / 4 + 8 * (i / 2)) * 8 + lane % 4 * 2 + i % 2] = c[i];
}

template <int m, int n, int k, class T, class S, class C, class LayoutA, class LayoutB>
__global__ void product(C* d, const S* a, const S* b) {
  wmma::fragment<wmma::matrix_a, m, n, k, T, LayoutA> of_a;
  wmma::fragment<wmma::matrix_b, m, n, k, T, LayoutB> of_b;
  wmma::fragment<wmma::accumulator, m, n, k, C> sum;
  wmma::fill_fragment(sum, C(0));
  wmma::load_matrix_sync(of_a, a, std::is_same_v<LayoutA, wmma::row_major> ? k : m);
  wmma::load_matrix_sync(of_b, b, std::is_same_v<LayoutB, wmma::row_major> ? n : k);
  wmma::mma_sync(sum, of_a, of_b, sum);
  wmma::store_matrix_sync(d, sum, n, wmma::mem_row_major);
}
/// Runs `launch` on small whole numbers, whose products all types hold.
template <class S, class C, class F>
void check_product(int m, int n, int k, bool rows_a, bool rows_b, F launch) {
  S *a, *b;
  C* d;
  CHECK(cudaMallocManaged(&a, m * k * sizeof(S)));
  CHECK(cudaMallocManaged(&b, n * k * sizeof(S)));
  CHECK(cudaMallocManaged(&d, m * n * sizeof(C)));
  for (int i = 0; i < m * k; ++i) a[i] = S(float(i % 5));
  for (int i = 0; i < n * k; ++i) b[i] = S(float(i % 3));
  launch(d, a, b);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int p = 0; p < k; ++p)
        sum += double(float(a[rows_a ? i * k + p : p * m + i])) *
               double(float(b[rows_b ? p * n + j : j * k + p]));
      require_near(double(float(d[i * n + j])), sum, 0, "an element of a product");
    }
  cudaFree(a), cudaFree(b), cudaFree(d);
}
template <int m, int n, int k, class T, class S, class C, class LayoutA, class LayoutB>
void check_wmma() {
  check_product<S, C>(
      m, n, k, std::is_same_v<LayoutA, wmma::row_major>, std::is_same_v<LayoutB, wmma::row_major>,
      [](C* d, S* a, S* b) { product<m, n, k, T, S, C, LayoutA, LayoutB><<<1, 32>>>(d, a, b); });
}

__global__ void rounded(double* out, double a, double b) {
  out[0] = __dadd_ru(a, b), out[1] = __dadd_rd(a, b), out[2] = __dadd_rz(-a, -b);
  out[3] = __ddiv_ru(a, 3), out[4] = __ddiv_rd(a, 3), out[5] = __dsqrt_ru(2 * a), out[6] = __dsqrt_rd(2 * a);
  out[7] = __fma_ru(a, a, b), out[8] = __fma_rd(a, a, -b), out[9] = __dmul_rd(1e300, 1e300);
}
void check_rounding() {
  double* out;
  CHECK(cudaMallocManaged(&out, 80));
  rounded<<<1, 1>>>(out, 1.0, 1e-30);
  CHECK(cudaDeviceSynchronize());
  const double up = std::nextafter(1.0, 2.0), down = std::nextafter(1.0, 0.0);
  const double wanted[] = {up,
                           1,
                           -1,
                           std::nextafter(1.0 / 3, 1),
                           1.0 / 3,
                           std::sqrt(2.0),
                           std::nextafter(std::sqrt(2.0), 1),
                           up,
                           down,
                           1.7976931348623157e308};
  for (int k = 0; k < 10; ++k) require_near(out[k], wanted[k], 0, "a double that is rounded as told");
  cudaFree(out);
}

__global__ void labels(int* counters, const int* bucket_of, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto same = cg::labeled_partition(cg::coalesced_threads(), bucket_of[i]);
  const int sum = cg::reduce(same, 1, cg::plus<int>());
  if (same.thread_rank() == 0) atomicAdd(&counters[bucket_of[i]], sum);
}
void check_labels() {
  const int n = 1000;
  int *counters, *bucket_of, wanted[5] = {};
  CHECK(cudaMallocManaged(&counters, 20));
  CHECK(cudaMallocManaged(&bucket_of, n * 4));
  for (int k = 0; k < 5; ++k) counters[k] = 0;
  for (int k = 0; k < n; ++k) ++wanted[bucket_of[k] = k * k % 5];
  labels<<<(n + 127) / 128, 128>>>(counters, bucket_of, n);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 5; ++k) require_near(counters[k], wanted[k], 0, "a bucket");
  cudaFree(counters), cudaFree(bucket_of);
}

int main() {
  using Rows = wmma::row_major;
  using Columns = wmma::col_major;
  check_ptx();
  check_product<half, float>(16, 8, 16, true, false,
                             [](float* d, half* a, half* b) { tensor<<<1, 32>>>(d, a, b); });
  check_wmma<16, 16, 16, half, half, float, Rows, Columns>();
  check_wmma<16, 16, 16, half, half, half, Columns, Rows>();
  check_wmma<32, 8, 16, half, half, float, Rows, Rows>();
  check_wmma<8, 32, 16, half, half, float, Columns, Columns>();
  check_wmma<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, Rows, Rows>();
  check_wmma<16, 16, 16, signed char, signed char, int, Rows, Columns>();
  check_wmma<32, 8, 16, unsigned char, unsigned char, int, Columns, Rows>();
  check_wmma<8, 32, 16, signed char, signed char, int, Rows, Columns>();
  check_wmma<16, 16, 8, wmma::precision::tf32, float, float, Rows, Columns>();
  check_wmma<8, 8, 4, double, double, double, Rows, Columns>();
  check_rounding();
  check_labels();
  std::printf("instructions passed\n");
}
