// mma.sync, ldmatrix and stmatrix. Which lane holds which element follows the PTX manual (sections "Matrix fragments
// for mma.m16n8k16", "...m16n8k8", "...m16n8k32", "ldmatrix" and "stmatrix").
#include <bit>
#include <cstring>

#include "harness/simt/cluster_api.h"
#include "harness/simt/executor.h"
#include "harness/simt/matrix_fp8.h"
#include "reference/formats.h"

namespace klab::simt {
namespace {

struct MmaSlot {
  MatrixType type;
  float* d;
  const uint32_t *a, *b;
  const float* c;
};

double element(MatrixType type, uint32_t r, int half) {
  const auto bits = uint16_t(r >> (16 * half));
  if (type == MatrixType::f16) return double(float_from_half(bits));
  return double(float_from_bfloat16(bits));
}
/// Rounds toward zero to the 10 bits of mantissa that tensor cores use.
double tf32(uint32_t r) { return double(std::bit_cast<float>(r & 0xFFFFE000u)); }

/// Computes d = a·b + c over `depth` products. The sum is accurate enough to be rounded only once.
void multiply_add(void* const* slots, unsigned present, const double (&a)[16][32], const double (&b)[32][8],
                  int depth) {
  float result[32][4];
  for (int lane = 0; lane < 32; ++lane) {
    if ((present >> lane & 1) == 0) continue;
    const auto& s = *static_cast<MmaSlot*>(slots[lane]);
    for (int e = 0; e < 4; ++e) {
      const int row = (lane >> 2) + 8 * (e >> 1), col = (lane & 3) * 2 + (e & 1);
      double sum = double(s.c[e]);
      for (int k = 0; k < depth; ++k) sum += a[row][k] * b[k][col];
      result[lane][e] = float(sum);
    }
  }
  // d may alias c, so it is written after all lanes' inputs have been read.
  for (int lane = 0; lane < 32; ++lane)
    if (present >> lane & 1)
      std::memcpy(static_cast<MmaSlot*>(slots[lane])->d, result[lane], sizeof result[lane]);
}

void multiply(void* const* slots, unsigned present) {
  double a[16][32] = {}, b[32][8] = {};
  const auto type = static_cast<MmaSlot*>(slots[unsigned(__builtin_ctz(present))])->type;
  const int depth = type == MatrixType::tf32 ? 8 : 16;
  for (int lane = 0; lane < 32; ++lane) {
    if ((present >> lane & 1) == 0) continue;
    const auto& s = *static_cast<MmaSlot*>(slots[lane]);
    const int group = lane >> 2, in = lane & 3;
    for (int r = 0; r < 4; ++r) {
      const int row = group + 8 * (r & 1);
      if (type == MatrixType::tf32) {
        a[row][in + 4 * (r >> 1)] = tf32(s.a[r]);
      } else {
        for (int h = 0; h < 2; ++h) a[row][in * 2 + h + 8 * (r >> 1)] = element(type, s.a[r], h);
      }
    }
    for (int r = 0; r < 2; ++r) {
      if (type == MatrixType::tf32) {
        b[in + 4 * r][group] = tf32(s.b[r]);
      } else {
        for (int h = 0; h < 2; ++h) b[in * 2 + h + 8 * r][group] = element(type, s.b[r], h);
      }
    }
  }
  multiply_add(slots, present, a, b, depth);
}

struct ByteSlot {
  int* d;
  const uint32_t *a, *b;
  const int* c;
};

/// Reads both factors of an m16n8k32 from the lanes' registers, four bytes in each.
template <class Slot, class Element, class ValueOfA, class ValueOfB>
void take_bytes(void* const* slots, unsigned present, Element (&a)[16][32], Element (&b)[32][8],
                ValueOfA of_a, ValueOfB of_b) {
  for (int lane = 0; lane < 32; ++lane) {
    if ((present >> lane & 1) == 0) continue;
    const auto& s = *static_cast<Slot*>(slots[lane]);
    const int group = lane >> 2, in = lane & 3;
    for (int r = 0; r < 4; ++r)
      for (int e = 0; e < 4; ++e) a[group + 8 * (r & 1)][in * 4 + e + 16 * (r >> 1)] = of_a(s.a[r], e);
    for (int r = 0; r < 2; ++r)
      for (int e = 0; e < 4; ++e) b[in * 4 + e + 16 * r][group] = of_b(s.b[r], e);
  }
}

void multiply_bytes(void* const* slots, unsigned present) {
  int a[16][32] = {}, b[32][8] = {};
  const auto byte = [](uint32_t r, int which) { return int(int8_t(r >> (8 * which))); };
  take_bytes<ByteSlot>(slots, present, a, b, byte, byte);
  int result[32][4];
  for (int lane = 0; lane < 32; ++lane) {
    if ((present >> lane & 1) == 0) continue;
    const auto& s = *static_cast<ByteSlot*>(slots[lane]);
    for (int e = 0; e < 4; ++e) {
      const int row = (lane >> 2) + 8 * (e >> 1), col = (lane & 3) * 2 + (e & 1);
      auto sum = uint32_t(s.c[e]);  // wraps around, as it does on the GPU without .satfinite
      for (int k = 0; k < 32; ++k) sum += uint32_t(a[row][k] * b[k][col]);
      result[lane][e] = int(sum);
    }
  }
  for (int lane = 0; lane < 32; ++lane)
    if (present >> lane & 1)
      std::memcpy(static_cast<ByteSlot*>(slots[lane])->d, result[lane], sizeof result[lane]);
}

/// Computes d = a·b + c exactly where a double can hold the sum. A product of two e4m3s is a multiple of
/// 2^-18 below 2^18, so a double holds 33 of them and a float of that size without error. A product of e5m2
/// and e4m3 is a multiple of 2^-25 below 2^25: a double holds sums of terms within 2^53 of each other.
template <const NarrowFormat& of_a>
void multiply_fp8(void* const* slots, unsigned present) {
  double a[16][32] = {}, b[32][8] = {};
  take_bytes<MmaSlot>(
      slots, present, a, b, [](uint32_t r, int which) { return decode(of_a, r >> (8 * which) & 255U); },
      [](uint32_t r, int which) { return decode(kE4m3, r >> (8 * which) & 255U); });
  multiply_add(slots, present, a, b, 32);
}

struct LoadSlot {
  uint32_t* r;
  int matrices;
  bool transposed;
  const void* row;
};

void distribute(void* const* slots, unsigned present) {
  const auto& one = *static_cast<LoadSlot*>(slots[unsigned(__builtin_ctz(present))]);
  for (int j = 0; j < one.matrices; ++j) {
    uint16_t m[8][8];
    std::memset(m, 0xFF, sizeof m);
    for (int i = 0; i < 8; ++i)
      if (present >> (8 * j + i) & 1) std::memcpy(m[i], static_cast<LoadSlot*>(slots[8 * j + i])->row, 16);
    for (int lane = 0; lane < 32; ++lane) {
      if ((present >> lane & 1) == 0) continue;
      const int i = lane >> 2, k = (lane & 3) * 2;
      const uint32_t low = one.transposed ? m[k][i] : m[i][k];
      const uint32_t high = one.transposed ? m[k + 1][i] : m[i][k + 1];
      static_cast<LoadSlot*>(slots[lane])->r[j] = high << 16 | low;
    }
  }
}

/// The other direction: `r` holds what a lane gives.
void collect(void* const* slots, unsigned present) {
  const auto& one = *static_cast<LoadSlot*>(slots[unsigned(__builtin_ctz(present))]);
  for (int j = 0; j < one.matrices; ++j) {
    uint16_t m[8][8];
    std::memset(m, 0xFF, sizeof m);
    for (int lane = 0; lane < 32; ++lane) {
      if ((present >> lane & 1) == 0) continue;
      const int i = lane >> 2, k = (lane & 3) * 2;
      const uint32_t both = static_cast<LoadSlot*>(slots[lane])->r[j];
      (one.transposed ? m[k][i] : m[i][k]) = uint16_t(both);
      (one.transposed ? m[k + 1][i] : m[i][k + 1]) = uint16_t(both >> 16);
    }
    for (int i = 0; i < 8; ++i)
      if (present >> (8 * j + i) & 1)
        std::memcpy(const_cast<void*>(static_cast<LoadSlot*>(slots[8 * j + i])->row), m[i], 16);
  }
}

}  // namespace

void mma_16_8(MatrixType type, float* d, const uint32_t* a, const uint32_t* b, const float* c,
              const char* file, int line) {
  MmaSlot slot{type, d, a, b, c};
  running->wait_for_lanes(Meeting::matrix, ~0u, &slot, multiply, "mma.sync", file, line);
}

void mma_16_8_bytes(int* d, const uint32_t* a, const uint32_t* b, const int* c, const char* file, int line) {
  ByteSlot slot{d, a, b, c};
  running->wait_for_lanes(Meeting::matrix, ~0u, &slot, multiply_bytes, "mma.sync", file, line);
}

void mma_16_8_fp8(float* d, const uint32_t* a, const uint32_t* b, const float* c, const char* file,
                  int line) {
  MmaSlot slot{MatrixType::f16, d, a, b, c};  // multiply_fp8 ignores the type
  running->wait_for_lanes(Meeting::matrix, ~0u, &slot, multiply_fp8<kE4m3>, "mma.sync", file, line);
}

void mma_16_8_e5m2(float* d, const uint32_t* a, const uint32_t* b, const float* c, const char* file,
                   int line) {
  MmaSlot slot{MatrixType::f16, d, a, b, c};
  running->wait_for_lanes(Meeting::matrix, ~0u, &slot, multiply_fp8<kE5m2>, "mma.sync", file, line);
}

void load_matrix(uint32_t* r, int matrices, bool transposed, const void* row, const char* file, int line) {
  if (running->trace != nullptr && int(running->lane->lane) < 8 * matrices)
    touch_from(row, 16, false, __builtin_return_address(0));
  LoadSlot slot{r, matrices, transposed, row};
  running->wait_for_lanes(Meeting::matrix, ~0u, &slot, distribute, "ldmatrix", file, line);
}

void store_matrix(uint32_t* r, int matrices, bool transposed, void* row, const char* file, int line) {
  if (running->trace != nullptr && int(running->lane->lane) < 8 * matrices)
    touch_from(row, 16, true, __builtin_return_address(0));
  LoadSlot slot{r, matrices, transposed, row};
  running->wait_for_lanes(Meeting::matrix, ~0u, &slot, collect, "stmatrix", file, line);
}

}  // namespace klab::simt
