// Matrices of numbers of four bits and of single bits, by wmma and by mma.sync, each against plain code on the host.
#include <mma.h>

#include <vector>

#include "check.h"

using namespace nvcuda;
namespace small = wmma::experimental;

/// 8 x 8 sums over k elements, in steps of as many as an instruction takes; rows of a and columns of b lie `ld` elements apart.
template <class T, int step>
__global__ void product(int* d, const void* a, const void* b, int k, int ld, bool saturated) {
  wmma::fragment<wmma::matrix_a, 8, 8, step, T, wmma::row_major> of_a;
  wmma::fragment<wmma::matrix_b, 8, 8, step, T, wmma::col_major> of_b;
  wmma::fragment<wmma::accumulator, 8, 8, step, int> sum;
  wmma::load_matrix_sync(sum, d, 8, wmma::mem_row_major);
  for (int at = 0; at < k; at += step) {
    wmma::load_matrix_sync(of_a, static_cast<const char*>(a) + at / 2, ld);
    wmma::load_matrix_sync(of_b, static_cast<const char*>(b) + at / 2, ld);
    wmma::mma_sync(sum, of_a, of_b, sum, saturated);
  }
  wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}
__global__ void bits(int* d, const unsigned* a, const unsigned* b, int k, bool both) {
  wmma::fragment<wmma::matrix_a, 8, 8, 128, small::precision::b1, wmma::row_major> of_a;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, small::precision::b1, wmma::col_major> of_b;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
  wmma::fill_fragment(sum, 3);
  for (int at = 0; at < k; at += 128) {
    wmma::load_matrix_sync(of_a, a + at / 32, k);
    wmma::load_matrix_sync(of_b, b + at / 32, k);
    if (both)
      wmma::bmma_sync(sum, of_a, of_b, sum, small::bmmaBitOpAND);
    else
      wmma::bmma_sync(sum, of_a, of_b, sum);
  }
  wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}
/// Fragments that are filled: every element of a is -3 (13 without a sign), of b 5.
template <class T>
__global__ void filled(int* d) {
  wmma::fragment<wmma::matrix_a, 8, 8, 32, T, wmma::row_major> of_a;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, T, wmma::col_major> of_b;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> sum;
  static_assert(of_a.num_elements == 8 && of_a.num_storage_elements == 1);
  wmma::fill_fragment(of_a, -3);
  wmma::fill_fragment(of_b, 5);
  wmma::fill_fragment(sum, 0);
  wmma::mma_sync(sum, of_a, of_b, sum);
  wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}
/// 16 x 8 by inline PTX: the registers as the PTX manual has them, a of rows of `words` words, b of columns.
template <int kind>
__global__ void by_ptx(int* d, const unsigned* a, const unsigned* b) {
  const int group = threadIdx.x / 4, in_group = threadIdx.x % 4, words = 8;
  unsigned of_a[4], of_b[2];
  for (int r = 0; r < 4; ++r) of_a[r] = a[(group + 8 * (r % 2)) * words + in_group + 4 * (r / 2)];
  for (int r = 0; r < 2; ++r) of_b[r] = b[group * words + in_group + 4 * r];
  int c[4] = {1, 2, 3, 4};
#define SMALL_PRODUCT(what)                                                                                \
  asm volatile("mma.sync.aligned." what " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                            \
               : "r"(of_a[0]), "r"(of_a[1]), "r"(of_a[2]), "r"(of_a[3]), "r"(of_b[0]), "r"(of_b[1]))
  if constexpr (kind == 0)
    SMALL_PRODUCT("m16n8k64.row.col.s32.s4.u4.s32");
  else if constexpr (kind == 1)
    SMALL_PRODUCT("m16n8k256.row.col.s32.b1.b1.s32.xor.popc");
  else
    SMALL_PRODUCT("m16n8k256.row.col.s32.b1.b1.s32.and.popc");
  for (int i = 0; i < 4; ++i) d[(group + 8 * (i / 2)) * 8 + in_group * 2 + i % 2] = c[i];
}

/// Element `at` of packed numbers; with a sign where there is one.
int nibble(const std::vector<unsigned>& v, size_t at, bool has_sign) {
  const int x = int(v[at / 8] >> at % 8 * 4 & 15);
  return has_sign && x > 7 ? x - 16 : x;
}
int bit(const std::vector<unsigned>& v, size_t at) { return int(v[at / 32] >> at % 32 & 1); }

struct Matrices {
  std::vector<unsigned> a, b;
  unsigned *on_a, *on_b;
  int* d;
  /// Rows of a and columns of b of `words` numbers of 32 bits; d starts as `start`.
  Matrices(int rows, int words, const std::vector<int>& start) : a(rows * words), b(8 * words) {
    unsigned x = 12345;
    for (auto* v : {&a, &b})
      for (unsigned& one : *v) one = (x = x * 1664525u + 1013904223u) ^ x >> 13;
    CHECK(cudaMalloc(&on_a, a.size() * 4));
    CHECK(cudaMalloc(&on_b, b.size() * 4));
    CHECK(cudaMalloc(&d, start.size() * 4));
    CHECK(cudaMemcpy(on_a, a.data(), a.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(on_b, b.data(), b.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d, start.data(), start.size() * 4, cudaMemcpyHostToDevice));
  }
  ~Matrices() { cudaFree(on_a), cudaFree(on_b), cudaFree(d); }
  /// term(i, j, at): what element `at` of row i and of column j give.
  template <class F>
  void compare(int rows, int k, const std::vector<int>& start, const char* what, F term) {
    std::vector<int> got(start.size());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got.data(), d, got.size() * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < 8; ++j) {
        int sum = start[i * 8 + j];
        for (int at = 0; at < k; ++at) sum += term(i, j, at);
        require_near(got[i * 8 + j], sum, 0, what);
      }
  }
};

template <class T>
void check_nibbles(bool has_sign, const char* what) {
  const int k = 96, ld = 128;
  std::vector<int> start(64);
  for (int i = 0; i < 64; ++i) start[i] = i - 20;
  Matrices m(8, ld / 8, start);
  product<T, 32><<<1, 32>>>(m.d, m.on_a, m.on_b, k, ld, false);
  m.compare(8, k, start, what, [&](int i, int j, int at) {
    return nibble(m.a, i * ld + at, has_sign) * nibble(m.b, j * ld + at, has_sign);
  });
  Matrices full(8, 4, std::vector<int>(64));
  filled<T><<<1, 32>>>(full.d);
  full.compare(8, 32, std::vector<int>(64), "filled fragments",
               [&](int, int, int) { return has_sign ? -15 : 65; });
}
void check_saturation() {
  std::vector<int> start(64, 2147483647 - 10);
  Matrices m(8, 4, start);
  CHECK(cudaMemset(m.on_a, 0x11, 8 * 16));
  CHECK(cudaMemset(m.on_b, 0x11, 8 * 16));
  product<small::precision::u4, 32><<<1, 32>>>(m.d, m.on_a, m.on_b, 32, 32, true);
  m.compare(8, 10, start, "a sum that ends at the end of its range", [](int, int, int) { return 1; });
}
void check_bits() {
  const int k = 384;
  const std::vector<int> start(64, 3);
  for (bool both : {false, true}) {
    Matrices m(8, k / 32, start);
    bits<<<1, 32>>>(m.d, m.on_a, m.on_b, k, both);
    m.compare(8, k, start, "a count of bits", [&](int i, int j, int at) {
      const int x = bit(m.a, i * k + at), y = bit(m.b, j * k + at);
      return both ? x & y : x ^ y;
    });
  }
}
void check_ptx() {
  std::vector<int> start(128);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) start[i * 8 + j] = 1 + j % 2 + i / 8 * 2;
  Matrices m(16, 8, start);
  by_ptx<0><<<1, 32>>>(m.d, m.on_a, m.on_b);
  m.compare(16, 64, start, "mma.sync of four bits", [&](int i, int j, int at) {
    return nibble(m.a, i * 64 + at, true) * nibble(m.b, j * 64 + at, false);
  });
  by_ptx<1><<<1, 32>>>(m.d, m.on_a, m.on_b);
  m.compare(16, 256, start, "mma.sync of bits that differ",
            [&](int i, int j, int at) { return bit(m.a, i * 256 + at) ^ bit(m.b, j * 256 + at); });
  by_ptx<2><<<1, 32>>>(m.d, m.on_a, m.on_b);
  m.compare(16, 256, start, "mma.sync of bits that are both set",
            [&](int i, int j, int at) { return bit(m.a, i * 256 + at) & bit(m.b, j * 256 + at); });
}

int main() {
  check_nibbles<small::precision::s4>(true, "a product of four bits with a sign");
  check_nibbles<small::precision::u4>(false, "a product of four bits");
  check_saturation();
  check_bits();
  check_ptx();
  std::printf("small_elements passed\n");
}
